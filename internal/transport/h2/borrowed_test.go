// SPDX-License-Identifier: Apache-2.0

package h2

import "testing"

// TestBorrowedSlice: a part of borrowed memory is a copy.
func TestBorrowedSlice(t *testing.T) {
	memory := []byte("borrowed")
	s := Borrow(memory).Slice(2, 5)
	clear(memory)
	if string(s.ReadOnlyData()) != "rro" {
		t.Errorf("%q", s.ReadOnlyData())
	}
}
