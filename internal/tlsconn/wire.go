// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
)

// wire is the Conn as crypto/tls sees it: the connection to read records from and
// write records to. During the handshake that is the socket; from then on it is
// memory, and nothing here waits.
type wire Conn

// Read implements net.Conn. After the handshake the reader calls it within
// tls.Conn.Read.
func (w *wire) Read(p []byte) (int, error) {
	if !w.open.Load() {
		return w.sock.Read(p) // keeps an error that comes with bytes
	}
	in := &w.intake
	if w.release || in.Len() == 0 { // with release, tls.Conn has it all
		if in.end != nil {
			return 0, in.end
		}
		return 0, readyreader.ErrWouldBlock
	}
	n := copy(p, in.Bytes())
	in.Skip(n)
	if in.Len() == 0 {
		in.Drop()
	}
	return n, nil
}

// Write implements net.Conn: see outbox.
func (w *wire) Write(p []byte) (int, error) {
	if !w.open.Load() {
		return w.raw.Write(p)
	}
	if err := w.out.add(p, w.intake.Pool); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements net.Conn. tls.Conn may have added a close_notify to the outbox, which is sent if there
// is room for it.
func (w *wire) Close() (err error) {
	c := (*Conn)(w)
	if !c.open.Load() {
		return c.raw.Close()
	}
	if !c.out.send.TryLock() {
		err := c.raw.Close() // ends the write that is under way
		c.shutOutbox()
		return err
	}
	if !c.sock.Can().Has(readyreader.TriesWrites) {
		defer c.out.send.Unlock()
		return c.closeAfterWrite()
	}
	defer func() { // also if code of the program ends the goroutine in flush
		err = c.raw.Close()
		c.shutOutbox()
	}()
	_ = c.flush(c.sock.TryWrite)
	c.out.send.Unlock()
	return nil
}

// lastWrite bounds how long a wrapper's Write may take for what is left at Close.
const lastWrite = time.Second

// closeAfterWrite closes a connection whose Write is a wrapper's own, and may sleep. A goroutine writes what is
// left, which nobody else can do any more, and closes the connection then, or after lastWrite. send is held.
func (c *Conn) closeAfterWrite() error {
	b, p, err := c.out.take()
	c.shutOutbox()
	if err != nil || len(b) == 0 {
		if p != nil {
			c.intake.Pool.Put(p)
		}
		return c.raw.Close()
	}
	late := time.AfterFunc(lastWrite, func() { _ = c.raw.Close() })
	go func() {
		defer func() { // also if the wrapper's Write ends the goroutine
			c.intake.Pool.Put(p)
			if late.Stop() {
				_ = c.raw.Close()
			}
		}()
		_, _ = c.sock.Write(b)
	}()
	return nil
}

func (w *wire) LocalAddr() net.Addr { return w.raw.LocalAddr() }

func (w *wire) RemoteAddr() net.Addr { return w.raw.RemoteAddr() }

// crypto/tls sets the deadlines below on its own account, around close_notify. After the handshake they
// would hit what is still waiting to be sent.

func (w *wire) SetDeadline(t time.Time) error {
	if !w.open.Load() {
		return w.raw.SetDeadline(t)
	}
	return nil
}

func (w *wire) SetReadDeadline(t time.Time) error {
	if !w.open.Load() {
		return w.raw.SetReadDeadline(t)
	}
	return nil
}

func (w *wire) SetWriteDeadline(t time.Time) error {
	if !w.open.Load() {
		return w.raw.SetWriteDeadline(t)
	}
	return nil
}

// shutOutbox makes the box refuse records, because the socket is closed.
func (c *Conn) shutOutbox() { _ = c.out.fail(net.ErrClosed, c.intake.Pool) }
