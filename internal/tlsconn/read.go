// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"io"
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// ReadOnReady implements readyreader.Layer. During the wait no buffer is held, except for
// the bytes of a record of which only a part has arrived.
func (c *Conn) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.lend(bufSize, pool, true)
}

// TryRead implements readyreader.Layer.
func (c *Conn) TryRead(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.lend(bufSize, pool, false)
}

// TryReadInto implements readyreader.Layer.
func (c *Conn) TryReadInto(p []byte) (int, error) { return c.read(p, false) }

// Read implements net.Conn. It may return more than one record's data, and never
// data and an error at once.
func (c *Conn) Read(p []byte) (int, error) { return c.read(p, true) }

// Drained implements readyreader.Layer.
func (c *Conn) Drained() bool {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	return c.usedUp() && c.sock.Drained()
}

// usedUp reports whether there is no byte in hand, and no error that a read would return.
func (c *Conn) usedUp() bool {
	return c.release && c.open.Load() && !c.closed && c.rerr == nil &&
		c.intake.dry && c.intake.end == nil && c.intake.Len() == 0
}

// WaitInRead implements readyreader.Layer. It waits for ciphertext.
func (c *Conn) WaitInRead(idle bool, _ mem.BufferPool) {
	c.rmu.Lock()
	has := !c.intake.dry || c.closed
	if !has && c.release {
		c.stash()
	}
	c.rmu.Unlock()
	if !has { // Close may come meanwhile, and ends the wait
		c.sock.WaitInRead(idle, c.intake.Pool)
	}
}

// ReleaseIdle implements readyreader.Layer: it drops memory that is not needed until there is input. The
// reader calls it when TryRead has returned ErrWouldBlock, or Drained true, before it leaves the connection
// alone for a while.
func (c *Conn) ReleaseIdle() {
	c.rmu.Lock()
	if c.release && c.open.Load() && !c.closed && c.intake.dry {
		c.stash()
		c.rest()
	}
	c.rmu.Unlock()
}

// dropWaited gives back what WaitInRead has read on a connection that is closed. Only the reader calls it.
func (c *Conn) dropWaited() {
	if !c.sock.Can().Has(readyreader.WaitsInRead) {
		return
	}
	if buf, _, err := c.sock.TryRead(cipherSize, c.intake.Pool); err == nil {
		c.intake.Pool.Put(buf)
	}
}

func (c *Conn) lend(size int, pool mem.BufferPool, wait bool) (*[]byte, int, error) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if c.closed {
		c.dropWaited()
		return nil, 0, net.ErrClosed
	}
	for {
		if !c.intake.dry {
			buf := pool.Get(size)
			p := (*buf)[:min(len(*buf), max(size, 0))]
			n, err := c.decrypt(p)
			if n > 0 {
				return buf, n, nil
			}
			pool.Put(buf)
			if len(p) == 0 {
				err = io.ErrShortBuffer
			}
			if err != nil {
				return nil, 0, err
			}
		}
		if err := c.fill(wait); err != nil {
			return nil, 0, err
		}
	}
}

func (c *Conn) read(p []byte, wait bool) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.rmu.Lock()
	defer c.rmu.Unlock()
	for {
		if !c.intake.dry {
			if n, err := c.decrypt(p); n > 0 || err != nil {
				return n, err
			}
		}
		if err := c.fill(wait); err != nil {
			return 0, err
		}
	}
}

// decrypt fills p from the ciphertext in hand. If it returns neither data nor an error, there is not enough
// ciphertext.
func (c *Conn) decrypt(p []byte) (n int, err error) {
	if c.closed {
		return 0, net.ErrClosed
	}
	added := c.out.added.Load()
	for n < len(p) && !c.intake.dry && c.rerr == nil {
		k, err := c.tls.Read(p[n:])
		n += k
		switch {
		case err == readyreader.ErrWouldBlock:
			c.intake.dry = true
		case err != nil:
			c.rerr = err // tls.Conn does not repeat all of its errors
		case c.release:
			c.intake.dry = !c.holdsRecord()
		}
	}
	if c.out.added.Load() != added {
		// The peer made us send a KeyUpdate or an alert. (Or these are the writer's records: then the
		// writer has the socket.)
		c.flushSoon()
	}
	if c.rerr != nil {
		c.drop()
	} else if c.release {
		c.settle()
	}
	if n > 0 {
		return n, nil
	}
	return 0, c.rerr
}

// fill reads more ciphertext when what is in hand yields no more plaintext. It does not return an error
// that ends the stream: it passes that to crypto/tls, which tells what it means.
func (c *Conn) fill(wait bool) error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.intake.end != nil: // what GiveBack gave back came before it
		return c.filled(c.intake.end)
	}
	if c.release && c.intake.Len() > 0 {
		if err := c.top(); err != readyreader.ErrWouldBlock {
			return c.filled(err)
		}
	}
	if c.release {
		c.stash()
	}
	least := c.intake.size()
	loan := c.intake.Borrow(least)
	size := least - c.intake.Len()
	var n int
	var err error
	if wait {
		n, err = c.awaitCiphertext(size, loan)
	} else {
		_, n, err = c.sock.TryRead(size, loan)
	}
	if c.closed && err == nil {
		n, err = 0, net.ErrClosed
	}
	loan.Done(n)
	if err != nil {
		return c.filled(err)
	}
	c.intake.dry = false
	c.intake.adapt(n, size)
	c.intake.woken()
	if c.release {
		c.feed()
		c.retained.Set(0)
	}
	return nil
}

// awaitCiphertext reads without the lock. Close may come meanwhile; then what is left in loan's buffer is not ours.
func (c *Conn) awaitCiphertext(size int, loan *readyreader.Loan) (n int, err error) {
	c.rmu.Unlock()
	defer c.rmu.Lock() // also if a Read of the program's ends the goroutine
	_, n, err = c.sock.ReadOnReady(size, loan)
	return n, err
}

// filled handles the result of an attempt to read ciphertext.
func (c *Conn) filled(err error) error {
	switch {
	case err == nil:
	case readyreader.Again(err):
		return err
	default:
		c.intake.end = err
	}
	c.intake.dry = false
	return nil
}
