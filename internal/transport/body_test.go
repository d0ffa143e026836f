// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"

	"google.golang.org/grpc/internal/transport/grpcwire"
)

// TestPiles: the reader lets others run where much waits to be taken, but not behind each small frame.
func TestPiles(t *testing.T) {
	for _, tt := range []struct {
		held, read int
		want       bool
	}{
		{0, 64 << 10, false},
		{pileMost - 1, 64 << 10, false},
		{pileMost, 64 << 10, true},
		{pileMost, pileFrom, true},
		{8 << 20, pileFrom - 1, false},
		{8 << 20, 100, false},
	} {
		var b body
		if tt.held > 0 {
			b.inbox.push(grpcwire.Message{Data: grpcwire.BytesOf(nil), Held: uint32(tt.held)})
		}
		if got := b.piles(tt.read); got != tt.want {
			t.Errorf("%d bytes read, %d wait: %v", tt.read, tt.held, got)
		}
	}
}
