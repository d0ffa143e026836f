// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"io"
	"net"
	"testing"
)

// lastAnswer is a connection to a SOCKS server that fails together with the last byte of the answer, and says so once.
type lastAnswer struct {
	net.Conn
	answer string
	why    error
}

func (*lastAnswer) Write(p []byte) (int, error) { return len(p), nil }

func (c *lastAnswer) Read(p []byte) (int, error) {
	if c.answer == "" {
		return 0, io.EOF
	}
	n := copy(p, c.answer)
	if c.answer = c.answer[n:]; c.answer == "" {
		return n, c.why
	}
	return n, nil
}

// TestSOCKSFailsWithItsAnswer: an error that comes with the end of the answer is that of the connection, as nobody would
// find it later.
func TestSOCKSFailsWithItsAnswer(t *testing.T) {
	reset := errors.New("reset")
	for why, want := range map[error]error{nil: nil, reset: reset, io.EOF: io.ErrUnexpectedEOF} {
		nc := &lastAnswer{answer: "\x05\x00" + "\x05\x00\x00\x01" + "\x7f\x00\x00\x01" + "\x00\x50", why: why}
		if err := socks(t.Context(), nc, nil, "server.example:443"); err != want {
			t.Errorf("with %v: %v", why, err)
		}
	}
}
