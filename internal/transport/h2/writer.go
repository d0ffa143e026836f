// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// The combining writer. A goroutine that queues frames under Conn.mu and finds that
// nobody is writing takes the write token, and writes what it and others have
// queued until nothing is left; everyone else returns at once. So there is no
// writer goroutine, and a busy connection gathers many calls into one write.
//
// The token's holder never waits for the socket. When the socket is full, or the holder has written its
// share, the token goes to a goroutine that is started for it, the flusher, which may wait. If every
// write may wait (writesWait), only the flusher writes, or a goroutine that has nothing else to do
// (Stream.Leave). A goroutine that has something else to do first passes the token on (Stream.SendSoon).

const (
	writeShare = 128 << 10 // the most bytes that a caller writes, for itself and others
	lentShare  = 1 << 20   // the same if a parcel has borrowed memory: to hand it over often means a copy
	yieldBelow = 32 << 10  // a parcel larger than this is worth a write as it is
)

// unlockAndFlush releases mu and writes what is queued, unless another goroutine is already writing, or
// the reader will write at the end of its batch. That is only some microseconds later, and until then
// the reader may wake goroutines that have more to send.
func (c *locked) unlockAndFlush() {
	switch w := (*writer)(c); {
	case !c.core.TakeToken():
		c.unlock()
	case c.in.writesWait():
		c.unlock()
		w.pass()
	case c.gathers():
		c.unlock()
		runtime.Gosched()
		w.flush()
	default:
		c.unlockAndWrite()
	}
}

// gathers reports whether to yield the processor before writing. That pays if other streams are open
// and little is queued: goroutines that are about to send can do so now, and share the write.
func (c *locked) gathers() bool {
	return c.core.OpenStreams() > 1 && c.core.Encoded() < yieldBelow
}

// unlockAndWrite releases mu and writes what is queued. The caller has the write token.
func (c *locked) unlockAndWrite() {
	p, ok := c.takeParcel()
	c.unlock()
	if ok {
		w := (*writer)(c)
		w.trace(&p)
		w.flushFrom(p)
	}
}

// flush writes until nothing is queued, or until another goroutine gets the token.
func (w *writer) flush() {
	if p, ok := w.take(); ok {
		w.flushFrom(p)
	}
}

// flushFrom is flush for a writer that has taken a parcel.
func (w *writer) flushFrom(p protocol.Parcel) {
	for written, more := 0, true; more; p, more = w.next() {
		if written >= writeShare && (!p.Borrows() || written >= lentShare) {
			w.handOver(flusher{parcel: p})
			return
		}
		n, err := w.tryWrite(&p)
		written += n
		if err != nil {
			if !errors.Is(err, readyreader.ErrWouldBlock) {
				p.Free(w.core.Config().Pool)
				w.failed(err)
				return
			}
			p.Keep(n, w.core.Config().Pool)
			// The token also goes to the flusher if nothing of p is left. A layer of the connection's
			// own, such as TLS, may still hold what it made of p, and writes that in its next Write.
			w.handOver(flusher{parcel: p, off: n})
			return
		}
		p.Free(w.core.Config().Pool)
	}
}

// take returns the next parcel. If there is none, it gives the token back.
func (w *writer) take() (protocol.Parcel, bool) {
	c := w.lock()
	p, ok := c.takeParcel()
	c.unlock()
	if ok {
		w.trace(&p)
	}
	return p, ok
}

// next is take for a writer that has written the parcel that it took last.
func (w *writer) next() (protocol.Parcel, bool) {
	if w.marks.giveBack() {
		return protocol.Parcel{}, false
	}
	return w.take()
}

// takeParcel is take with the lock held. If the parcel is the last one, as far as is known, it makes
// the token loose.
func (c *locked) takeParcel() (protocol.Parcel, bool) {
	p, ok := c.core.Take(c.wire.LeastPiece())
	if ok && c.core.LoosenToken() {
		c.marks.loosen()
	}
	return p, ok
}

func (w *writer) trace(p *protocol.Parcel) {
	if (*Conn)(w).tracer() != nil {
		w.traceSent(p)
	}
}

// pass gives the token to another goroutine, which may wait.
func (w *writer) pass() { (*Conn)(w).ground().Go((*patientWriter)(w)) }

// handOver is pass for a writer that has taken a parcel already.
func (w *writer) handOver(f flusher) {
	t := flushers.Get().(*flusher)
	*t = f
	t.writer = w
	(*Conn)(w).ground().Go(t)
}

// patientWriter is a task that writes, and may wait. It holds the write token.
type patientWriter writer

// Run implements warm.Task.
func (p *patientWriter) Run() { (*writer)(p).writeAll() }

// gatheringWriter is a patientWriter that yields the processor first: see gathers.
type gatheringWriter writer

// Run implements warm.Task.
func (g *gatheringWriter) Run() {
	runtime.Gosched()
	(*writer)(g).writeAll()
}

var flushers = sync.Pool{New: func() any { return new(flusher) }}

// flusher is a patientWriter that begins with a parcel.
type flusher struct {
	writer *writer
	parcel protocol.Parcel // the first off bytes of it are written, perhaps all
	off    int
}

// Run implements warm.Task.
func (f *flusher) Run() {
	w, p, off := f.writer, f.parcel, f.off
	*f = flusher{}
	flushers.Put(f)
	for more := true; more && w.write(&p, off); off = 0 {
		p, more = w.next()
	}
}

// writeAll writes until nothing is queued, and may wait.
func (w *writer) writeAll() {
	for p, more := w.take(); more && w.write(&p, 0); p, more = w.next() {
	}
}

// write writes a parcel from the offset off, and may wait. It reports whether it has succeeded.
func (w *writer) write(p *protocol.Parcel, off int) bool {
	err := w.writeRest(p, off)
	p.Free(w.core.Config().Pool)
	if err != nil {
		w.failed(err)
	}
	return err == nil
}

// writeRest writes a parcel from the offset off. It first writes as much of borrowed memory as the
// socket takes at once, and copies the rest before it waits.
func (w *writer) writeRest(p *protocol.Parcel, off int) error {
	if p.Borrows() && !w.in.writesWait() {
		n, err := w.tryWrite(p) // off is 0: otherwise flushFrom has copied what was borrowed
		if !errors.Is(err, readyreader.ErrWouldBlock) {
			return err
		}
		off = n
	}
	p.Keep(off, w.core.Config().Pool)
	left := true
	defer func() {
		if left {
			go w.abandoned(*p)
		}
	}()
	err := w.wire.write(p, off)
	left = false
	return err
}

// tryWrite writes as much of a parcel as the socket takes without waiting.
func (w *writer) tryWrite(p *protocol.Parcel) (int, error) {
	left := true
	defer func() {
		if left {
			go w.abandoned(*p)
		}
	}()
	n, err := w.wire.tryWrite(p)
	left = false
	return n, err
}

// errWriterLeft ends a connection if code of the program, such as a wrapper's Write, has ended the goroutine
// that had the write token.
var errWriterLeft = errors.New("code of the program ended the goroutine that writes")

// abandoned is failed for a writer whose goroutine has ended in a write of p. It runs on a goroutine of its
// own, for the same reason as the reader's does.
func (w *writer) abandoned(p protocol.Parcel) {
	p.Free(w.core.Config().Pool)
	w.failed(errWriterLeft)
}

// failed records that a write has failed. It keeps the token, so that nothing more is written. The
// reader gets a moment to find in the socket why the peer closed the connection. Then the connection
// ends.
func (w *writer) failed(err error) {
	c := w.lock()
	defer c.unlock()
	c.core.WriteFailed(err)
	c.closeLater(c.core.WriteError(), 0)
	// If this side caused the error, the poller does not wake a parked connection.
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		if w.handle.Kick() {
			(*parkedConn)(w).Wake()
		}
	}
}
