// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"testing"
)

func TestPrefix(t *testing.T) {
	tests := []struct {
		compressed bool
		n          uint32
		want       string
	}{
		{false, 0, "\x00\x00\x00\x00\x00"},
		{true, 0, "\x01\x00\x00\x00\x00"},
		{false, 0x01020304, "\x00\x01\x02\x03\x04"},
		{true, MaxMessageLen, "\x01\xff\xff\xff\xff"},
	}
	for _, tt := range tests {
		p := Prefix(tt.compressed, tt.n)
		if string(p[:]) != tt.want {
			t.Errorf("Prefix(%v, %d) = %q", tt.compressed, tt.n, p)
		}
	}
}
