// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"io"
	"net"
)

// LastWords is a connection that fails together with the last byte of Words, and says so once: later reads
// find the end.
type LastWords struct {
	net.Conn
	Words string
	Err   error
}

// Read implements net.Conn.
func (c *LastWords) Read(p []byte) (int, error) {
	if c.Words == "" {
		return 0, io.EOF
	}
	n := copy(p, c.Words)
	if c.Words = c.Words[n:]; c.Words == "" {
		return n, c.Err
	}
	return n, nil
}

// Discards is a connection that takes whatever is written, and can do nothing else.
type Discards struct{ net.Conn }

// Write implements net.Conn.
func (Discards) Write(p []byte) (int, error) { return len(p), nil }
