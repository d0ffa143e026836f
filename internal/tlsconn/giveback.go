// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"

	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
)

// A port that serves several protocols reads the beginning of each connection to find out
// which of them it speaks. These functions give back what was read.

// CanGiveBack reports whether GiveBack and Surrender may be called.
func CanGiveBack() bool { return releasable() && tlsbuf.FoundConn() }

// GiveBack makes reads of t return p first, which t keeps. The handshake must be over, and nobody may be
// reading.
func GiveBack(t *tls.Conn, p []byte) {
	input := tlsbuf.Of(t).Input
	rest := make([]byte, input.Len())
	_, _ = input.Read(rest) // it is memory
	*input = *bytes.NewReader(append(p, rest...))
}

// GiveBack makes reads return p first, which c keeps, and then the error that came with it, if any. Only the reader
// may call it, after the handshake.
func (c *Conn) GiveBack(p []byte) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	GiveBack(c.tls, p)
	c.intake.dry = false
	if c.rerr != nil {
		c.intake.end, c.rerr = c.rerr, nil
	}
}

// Surrender returns the connection as crypto/tls alone would have it: a tls.Conn over the connection that
// New was given. Its reads return p first, which it keeps, and then the error that came with it, if any. Surrender may be called after the handshake,
// while nobody reads or writes. Afterwards c must not be used, except that it has to be closed after an
// error.
func (c *Conn) Surrender(p []byte) (*tls.Conn, error) {
	c.out.send.Lock()
	err := c.flush(c.sock.Write)
	c.out.send.Unlock()
	if err != nil {
		return nil, err
	}
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if c.closed {
		return nil, net.ErrClosed
	}
	b := tlsbuf.Of(c.tls)
	GiveBack(c.tls, p)
	b.Feed(c.unread())
	c.intake.Drop()
	c.retained.Set(0)
	if c.rerr == nil || c.rerr == io.EOF { // tls.Conn repeats the end of the stream
		tlsbuf.SetConn(c.tls, c.raw)
	} else {
		tlsbuf.SetConn(c.tls, &failed{c.raw, c.rerr})
	}
	return c.tls, nil
}

// failed is a connection of which reads fail.
type failed struct {
	net.Conn
	err error
}

func (f *failed) Read([]byte) (int, error) { return 0, f.err }

// unread returns a copy of the ciphertext that was read and not decrypted. rmu is held.
func (c *Conn) unread() []byte {
	p := bytes.Clone(tlsbuf.Of(c.tls).Raw.Bytes())
	if !c.release {
		p = append(p, c.intake.Bytes()...)
	}
	return p
}
