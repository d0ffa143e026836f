// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import "google.golang.org/grpc/internal/tlsconn/tlsbuf"

// holdsRecord reports whether tls.Conn can go on without more ciphertext.
func (c *Conn) holdsRecord() bool { return tlsbuf.Of(c.tls).HoldsRecord() }

// feed gives the intake to tls.Conn as the ciphertext that it holds.
func (c *Conn) feed() { tlsbuf.Of(c.tls).Feed(c.intake.Bytes()) }

// sync drops from the intake what tls.Conn has used.
func (c *Conn) sync() {
	left := tlsbuf.Of(c.tls).Raw.Bytes()
	if used := c.intake.Len() - len(left); used >= 0 {
		c.intake.Skip(used)
		return
	}
	// It was read with the end of the handshake, into memory of tls.Conn's own.
	buf := c.intake.Pool.Get(len(left))
	c.intake.Set(buf, copy(*buf, left))
}

// top adds what can be read without waiting to the part of a record that is in hand, if that is in a buffer
// of full size. It returns ErrWouldBlock if there is nothing to read, or no such buffer.
func (c *Conn) top() error {
	c.sync()
	err := c.intake.Extend(c.sock, c.intake.size())
	c.feed()
	return err
}

// settle gives the buffers back if they are empty.
func (c *Conn) settle() {
	if tlsbuf.Of(c.tls).Release() {
		c.intake.Drop()
	}
}

// stash moves the part of a record that has arrived to memory of its own length.
func (c *Conn) stash() {
	c.settle()
	c.sync()
	part := c.intake.Len()
	c.intake.Settle(part, part)
	c.feed()
	c.retained.Set(c.kept())
}

// kept returns the memory, in bytes, of what has arrived and yields nothing yet: a part of a record, and the part
// of a handshake message that whole records have brought. rmu is held.
func (c *Conn) kept() int {
	n := c.intake.Memory()
	if c.release && c.open.Load() {
		n += tlsbuf.Of(c.tls).Unfinished()
	}
	return n
}

// drop forgets all input.
func (c *Conn) drop() {
	if c.release && c.open.Load() {
		tlsbuf.Of(c.tls).Drop()
	}
	c.dropIntake()
}
