// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/internal/testutils"
)

// TestSOCKSFailsWithItsAnswer: an error that comes with the end of the answer is that of the connection, as nobody would
// find it later.
func TestSOCKSFailsWithItsAnswer(t *testing.T) {
	reset := errors.New("reset")
	for why, want := range map[error]error{nil: nil, reset: reset, io.EOF: io.ErrUnexpectedEOF} {
		nc := &testutils.LastWords{Conn: testutils.Discards{}, Words: "\x05\x00" + "\x05\x00\x00\x01" + "\x7f\x00\x00\x01" + "\x00\x50", Err: why}
		if err := socks(t.Context(), nc, nil, "server.example:443"); err != want {
			t.Errorf("with %v: %v", why, err)
		}
	}
}
