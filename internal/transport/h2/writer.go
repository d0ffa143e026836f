// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"

	"google.golang.org/grpc/internal/readyreader"
)

// The combining writer. Whoever queues frames under Conn.mu and finds that
// nobody is writing takes the write token, and writes what it and others have
// queued until nothing is left; everyone else returns at once. So there is no
// writer goroutine, and a busy connection gathers many calls into one write.
//
// The token's holder never waits for the socket. When the socket is full, or
// the holder has written its share, the token goes to an on-demand goroutine,
// the flusher, which may wait. Where each write may wait (Conn.waits) it is the flusher that
// writes, or a goroutine that has nothing else to do (Stream.Leave).

const (
	writeShare = 128 << 10 // bytes that a caller writes for others at most
	yieldBelow = 32 << 10  // a parcel larger than this is worth a write as it is
)

// sendable reports whether there is anything to write right now.
func (c *locked) sendable() bool {
	return !c.out.buf.empty() || !c.streams.turns.empty() && c.windows.Send().Window() > 0
}

// unlockAndFlush releases mu and writes what is queued, unless somebody is
// already at it or the reader will do it at the end of its batch: that is in some microseconds,
// and in between it may bring others to send more.
func (c *locked) unlockAndFlush() {
	if w, ok := c.unlockToWrite(); ok {
		w.flush()
	}
}

// unlockToWrite releases mu, and takes the write token if there is something to write and
// nobody has it.
func (c *locked) unlockToWrite() (w *writer, ok bool) {
	if c.out.writing || c.out.reader == working || !c.sendable() {
		c.unlock()
		return nil, false
	}
	c.out.writing = true
	gather := c.streams.open() > 1 && c.out.buf.size() < yieldBelow
	c.unlock()
	if gather {
		// Others are in flight on this connection: those that are about to
		// send do it now, and share the write.
		runtime.Gosched()
	}
	return (*writer)(c), true
}

// flush writes until nothing is queued, or the token passes on.
func (w *writer) flush() {
	if w.waits {
		w.pass()
		return
	}
	written := 0
	for {
		p, ok := w.take()
		if !ok {
			return
		}
		if written >= writeShare && !p.borrows() { // whoever lends waits for it anyway
			w.handOver(flusher{parcel: p})
			return
		}
		n, err := w.wire.tryWrite(&p)
		written += n
		if err != nil {
			if !errors.Is(err, readyreader.ErrWouldBlock) {
				p.free(w.out.cfg.Pool)
				w.failed(err)
				return
			}
			p.keep(n, w.out.cfg.Pool)
			// Also with nothing of p left: a layer of the connection's own,
			// such as TLS, may hold what it made of it, and writes that in
			// its next Write.
			w.handOver(flusher{parcel: p, off: n})
			return
		}
		p.free(w.out.cfg.Pool)
	}
}

// take returns the next parcel. Where there is none the token is given back.
func (w *writer) take() (outbuf, bool) {
	p, ok := w.takeParcel()
	if ok && w.out.cfg.Trace != nil {
		w.traceSent(&p)
	}
	return p, ok
}

func (w *writer) takeParcel() (outbuf, bool) {
	c := w.lock()
	defer c.unlock()
	if c.life.dead() {
		c.out.buf.free(c.out.cfg.Pool)
	} else {
		c.fill()
	}
	if c.out.buf.empty() {
		c.out.writing = false
		c.end.signalFlush()
		c.finish()
	}
	if c.out.buf.empty() { // unless there was a farewell to say
		return outbuf{}, false
	}
	c.out.writing = true
	p := c.out.take()
	c.wakeReader()
	return p, true
}

// pass gives the token to a goroutine that may wait.
func (w *writer) pass() { w.out.cfg.Ground.Go((*patientWriter)(w)) }

// handOver is pass for whoever has taken a parcel.
func (w *writer) handOver(f flusher) {
	t := flushers.Get().(*flusher)
	*t = f
	t.writer = w
	w.out.cfg.Ground.Go(t)
}

// patientWriter is the task that writes and may wait. It holds the write token.
type patientWriter writer

// Run implements warm.Task.
func (p *patientWriter) Run() { (*writer)(p).writeAll() }

var flushers = sync.Pool{New: func() any { return new(flusher) }}

// flusher is a patientWriter that begins with a parcel.
type flusher struct {
	writer *writer
	parcel outbuf // of which off bytes are written; all of them, perhaps
	off    int
}

// Run implements warm.Task.
func (f *flusher) Run() {
	w, p, off := f.writer, f.parcel, f.off
	*f = flusher{}
	flushers.Put(f)
	if w.write(&p, off) {
		w.writeAll()
	}
}

// writeAll writes until nothing is queued, and may wait.
func (w *writer) writeAll() {
	for {
		p, ok := w.take()
		if !ok || !w.write(&p, 0) {
			return
		}
	}
}

// write writes a parcel from off on, and may wait. It reports whether the connection can be
// written on.
func (w *writer) write(p *outbuf, off int) bool {
	err := w.writeRest(p, off)
	p.free(w.out.cfg.Pool)
	if err != nil {
		w.failed(err)
	}
	return err == nil
}

// writeRest writes a parcel from off on. What is borrowed is written as far as the socket takes it at
// once, and the rest is copied before the wait.
func (w *writer) writeRest(p *outbuf, off int) error {
	if p.borrows() && !w.waits {
		n, err := w.wire.tryWrite(p) // off is 0: see flush
		if !errors.Is(err, readyreader.ErrWouldBlock) {
			return err
		}
		off = n
	}
	p.keep(off, w.out.cfg.Pool)
	return w.wire.write(p, off)
}

// failed keeps the token: nothing is written any more. The reader is given a moment to
// find in the socket why the peer hung up, then it ends the connection.
func (w *writer) failed(err error) {
	c := w.lock()
	defer c.unlock()
	c.ending().writeErr = &IOError{Op: "write", Err: err}
	c.life.silence()
	c.dropOutput()
	c.end.signalFlush()
	c.wakeReader()
	c.closeLater(c.end.writeErr, 0)
	// Of what was done on this side no event tells a reader that is parked.
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		if w.handle.Kick() {
			(*parkedConn)(w).Wake()
		}
	}
}
