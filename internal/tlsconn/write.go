// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"errors"

	"google.golang.org/grpc/internal/readyreader"
)

// Write implements net.Conn: it returns when all of p, and what TryWrite left behind, is with the system. p
// may be empty, to send only what is left. On a timeout the first n bytes are taken, though not all of them
// need have been sent, and the write can be continued behind them.
func (c *Conn) Write(p []byte) (int, error) {
	return c.WriteVector([][]byte{p})
}

// WriteVector implements readyreader.Layer.
func (c *Conn) WriteVector(pieces [][]byte) (int, error) {
	c.out.send.Lock()
	n, err := c.seal(pieces, c.sock.Write)
	c.wrote()
	c.unlockSend(err == nil)
	return n, err
}

// TryWrite implements readyreader.Layer. If it returns ErrWouldBlock the first n
// bytes of p are taken, all of them perhaps, and some may be left inside as
// ciphertext. They go out with the next write, so there has to be one: Write waits
// until they are sent, even if there is nothing more to write.
func (c *Conn) TryWrite(p []byte) (int, error) { return c.TryWriteVector([][]byte{p}) }

// TryWriteVector implements readyreader.Layer.
func (c *Conn) TryWriteVector(pieces [][]byte) (int, error) {
	if !c.out.send.TryLock() {
		return 0, readyreader.ErrWouldBlock // somebody waits for the socket
	}
	n, err := c.seal(pieces, c.sock.TryWrite)
	c.wrote()
	c.unlockSend(err == nil)
	return n, err
}

// LeastPiece implements readyreader.Layer: a piece has records of its own.
func (c *Conn) LeastPiece() int { return leastPiece }

// seal encrypts the pieces and moves the records to the socket with write. send is held.
func (c *Conn) seal(pieces [][]byte, write func([]byte) (int, error)) (n int, err error) {
	left := 0
	for _, p := range pieces {
		left += len(p)
	}
	for {
		if err := c.flush(write); err != nil || left == 0 {
			return n, err
		}
		k, err := c.sealChunk(pieces, min(left, chunkSize))
		n += k
		if err != nil {
			c.out.trim(c.intake.Pool)
			return n, err
		}
		left -= k
	}
}

// sealChunk encrypts the first size bytes of the pieces, and takes them off the pieces.
func (c *Conn) sealChunk(pieces [][]byte, size int) (n int, err error) {
	c.out.prepare(size+(size/maxPlain+len(pieces))*recordCost, c.intake.Pool)
	for i := 0; n < size; i++ {
		p := pieces[i][:min(len(pieces[i]), size-n)]
		if len(p) == 0 {
			continue
		}
		k, err := c.tls.Write(p)
		n += k
		if err != nil {
			return n, err
		}
		pieces[i] = pieces[i][k:]
	}
	return n, nil
}

// errWriterLeft ends writing if code of the program, such as a wrapper's Write, has ended the goroutine.
var errWriterLeft = errors.New("tlsconn: code of the program ended the goroutine that writes")

// flush moves what is in the outbox to the socket with write. An error other than ErrWouldBlock and a
// timeout ends writing. send is held; if write ends the goroutine, flush releases it.
func (c *Conn) flush(write func([]byte) (int, error)) error {
	o := &c.out
	b, p, err := o.take()
	if err != nil || p == nil {
		return err
	}
	if len(b) == 0 {
		c.intake.Pool.Put(p)
		return nil
	}
	left := true
	defer func() {
		if left {
			c.intake.Pool.Put(p)
			_ = o.fail(errWriterLeft, c.intake.Pool)
			o.send.Unlock()
		}
	}()
	n, err := write(b)
	left = false
	if err == nil {
		c.intake.Pool.Put(p)
		return nil
	}
	if readyreader.Again(err) {
		o.putBack(b[n:], p, c.intake.Pool)
		return err
	}
	c.intake.Pool.Put(p)
	return o.fail(err, c.intake.Pool)
}

// unlockSend releases send. Goroutines that found it held may have added records since the last flush: with
// look these are sent. Without look the caller has left something behind, and a write will follow anyway.
func (c *Conn) unlockSend(look bool) {
	c.out.send.Unlock()
	if look && c.out.pending() {
		c.flushSoon()
	}
}

// flushSoon sends what is in the outbox without waiting: now if there is room, by a goroutine if not. If
// another goroutine is sending, that sends this as well.
func (c *Conn) flushSoon() {
	o := &c.out
	for o.pending() {
		if !o.send.TryLock() {
			return
		}
		err := c.flush(c.sock.TryWrite)
		o.send.Unlock()
		if err == readyreader.ErrWouldBlock {
			c.flushLater()
		}
		if err != nil {
			return
		}
	}
}

// flushLater makes a goroutine wait for room, one at most.
func (c *Conn) flushLater() {
	o := &c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting {
		return
	}
	o.waiting = true
	go func() {
		o.send.Lock()
		o.mu.Lock()
		o.waiting = false
		o.mu.Unlock()
		// The writer learns of a failure from its own next write.
		err := c.flush(c.sock.Write)
		c.unlockSend(err == nil)
	}()
}
