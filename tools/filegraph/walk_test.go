// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

// TestWalks: the ways are those of the code, and don't go back and forth.
func TestWalks(t *testing.T) {
	for _, w := range walks {
		if err := w.check("../.."); err != nil {
			t.Errorf("%s: %v", w.what, err)
		}
		if back := w.returns(); len(back) > 4 {
			t.Errorf("%s: %d returns to a file that it left, more than four", w.what, len(back))
		}
	}
}

func TestReturns(t *testing.T) {
	w := walk{steps: []step{
		{0, "a", "f"},
		{1, "b", "g"},
		{2, "b", "h"},
		{1, "a", "i"}, // f goes on in its own file
		{1, "b", "j"}, // back
		{2, "a", "k"}, // back
		{0, "b", "l"}, // back
		{1, "c", "m"},
	}}
	if got, want := w.returns(), []int{4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
