// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/mem"
)

// The combining writer. Whoever appends frames under Conn.mu and finds that
// nobody is writing takes the write token, and writes what it and others have
// appended until nothing is left; everyone else returns at once. So there is no
// writer goroutine, and a busy connection gathers many calls into one write.
//
// The token's holder never waits for the socket. When the socket is full, or
// the holder has written its share, the token goes to an on-demand goroutine,
// the flusher, which may wait.

const (
	writeShare = 128 << 10 // bytes that a caller writes for others at most
	yieldBelow = 8 << 10   // a batch larger than this is worth a write as it is
	minFrame   = 1 << 10   // a batch with less room than this is full
	uncopied   = 64 << 10  // a piece of a message as long as this is written from where it is
)

// unlockAndFlush releases mu and writes what is queued, unless somebody is
// already at it or the reader will do it at the end of its batch.
func (c *Conn) unlockAndFlush() {
	if c.writing || !c.sendable() {
		c.mu.Unlock()
		return
	}
	c.writing = true
	gather := len(c.table.byID) > 1 && len(c.out.b) < yieldBelow
	c.mu.Unlock()
	if gather {
		// Others are in flight on this connection: those that are about to
		// send do it now, and share the write.
		runtime.Gosched()
	}
	c.flush()
}

// sendable reports whether there is anything to write right now. mu is held.
func (c *Conn) sendable() bool {
	return !c.out.empty() || !c.sched.empty() && c.outflow.Window() > 0
}

// flush writes until nothing is queued, or the token passes on. The caller
// holds the token.
func (c *Conn) flush() {
	written := 0
	for {
		buf, ok := c.take()
		if !ok {
			return
		}
		if c.try == nil || written >= writeShare {
			c.handOver(flusher{buf: buf, write: true})
			return
		}
		n, err := c.tryWrite(&buf)
		written += n
		if err != nil {
			if !errors.Is(err, readyreader.ErrWouldBlock) {
				buf.free(c.cfg.Pool)
				c.writeFailed(err)
				return
			}
			// Also with nothing of buf left: a layer of the connection's own,
			// such as TLS, may hold what it made of it, and writes that in
			// its next Write.
			c.handOver(flusher{buf: buf, off: n, write: true})
			return
		}
		buf.free(c.cfg.Pool)
	}
}

// pairWriter is a connection that can write two pieces at once: for a layer
// that makes records of what it is given.
type pairWriter interface {
	// TryWritePair is TryWrite of p and then q.
	TryWritePair(p, q []byte) (n int, err error)
}

// tryWrite writes what the socket takes of buf.
func (c *Conn) tryWrite(buf *batch) (int, error) {
	if buf.ref == nil {
		return c.try.TryWrite(buf.b)
	}
	if w, ok := c.try.(pairWriter); ok {
		return w.TryWritePair(buf.b, buf.tail)
	}
	n, err := c.try.TryWrite(buf.b)
	if err != nil {
		return n, err
	}
	m, err := c.try.TryWrite(buf.tail)
	return n + m, err
}

// write writes buf from off on, and may wait. Where nothing of it is left it
// still makes one write: see flush.
func (c *Conn) write(buf *batch, off int) error {
	var w io.Writer = c.nc
	if c.try != nil {
		w = c.try
	}
	if off < len(buf.b) || buf.ref == nil {
		if _, err := w.Write(buf.b[off:]); err != nil {
			return err
		}
		off = len(buf.b)
	}
	if buf.ref == nil {
		return nil
	}
	_, err := w.Write(buf.tail[off-len(buf.b):])
	return err
}

// take gives the token's holder the next batch. Where there is none the token
// is given back.
func (c *Conn) take() (batch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var t tailed
	if c.dead {
		c.out.free(c.cfg.Pool)
	} else {
		t = c.fill()
	}
	if c.out.empty() {
		c.writing = false
		c.signalFlush()
		c.tryPart()
	}
	if c.out.empty() { // unless there was a farewell to say
		return batch{}, false
	}
	c.writing = true
	buf := batch{outbuf: c.out, tail: t.tail, ref: t.ref}
	c.out = outbuf{}
	c.replies, c.updates = 0, 0
	c.wakeReaderLocked()
	if t.last != nil {
		c.drained(t.last, t.ended) // what it adds goes behind the tail
	}
	return buf, true
}

// handOver gives the token to a goroutine that does as f says.
func (c *Conn) handOver(f flusher) {
	t := flushers.Get().(*flusher)
	*t = f
	t.conn = c
	warm.Go(t)
}

var flushers = sync.Pool{New: func() any { return new(flusher) }}

// flusher is the task that writes and may wait. It holds the write token.
type flusher struct {
	conn  *Conn
	buf   batch // what to begin with, of which off bytes are written
	off   int
	write bool // begin with a write, even if nothing of buf is left
}

// Run implements warm.Task.
func (f *flusher) Run() {
	c, buf, off, write := f.conn, f.buf, f.off, f.write
	*f = flusher{}
	flushers.Put(f)
	for {
		if write {
			err := c.write(&buf, off)
			buf.free(c.cfg.Pool)
			if err != nil {
				c.writeFailed(err)
				return
			}
		}
		if buf, write = c.take(); !write {
			return
		}
		off = 0
	}
}

// writeFailed is called by the token's holder, which keeps the token: nothing
// is written any more. The reader is given a moment to find in the socket why
// the peer hung up, then it ends the connection.
func (c *Conn) writeFailed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending().writeErr = &IOError{Op: "write", Err: err}
	c.mute = true
	c.dropOutput()
	c.signalFlush()
	c.wakeReaderLocked()
	c.closeLater(c.end.writeErr, 0)
}

// appendFrames encodes f for s, or queues what the windows do not let through.
// mu is held.
func (c *Conn) appendFrames(s *Stream, f *Frames) error {
	if c.mute {
		f.Data.Free()
		return nil // the reader is about to tell everyone
	}
	if f.Optional && !c.sendsAtOnce(s, f) {
		f.Data.Free()
		f.HasData, f.Data = false, nil
	}
	if f.Headers != nil {
		end := f.End && !f.HasData && f.Trailers == nil
		if err := c.appendHeaders(s, f.Headers, end); err != nil {
			f.Data.Free()
			return err
		}
		if end {
			return nil
		}
	}
	if s.pending != nil {
		s.pending.push(f)
		return nil
	}
	if f.HasData {
		if !c.appendData(s, f) {
			return nil
		}
	} else if f.End && f.Trailers == nil && f.Headers == nil {
		c.out.reserve(frame.HeaderLen, c.cfg.Pool)
		c.out.b = frame.AppendDataHeader(c.out.b, s.id, 0, true)
		c.endLocal(s)
	}
	if f.Trailers != nil {
		return c.appendTrailers(s, f.Trailers)
	}
	return nil
}

// sendsAtOnce reports whether the windows and the batch allow all of the message in f.
func (c *Conn) sendsAtOnce(s *Stream, f *Frames) bool {
	size := len(f.Prefix) + f.Data.Len()
	return s.pending == nil && c.sched.empty() && size <= c.cfg.maxBatch()-len(c.out.b) && size <= frame.MinMaxFrameSize &&
		uint32(size) <= s.out.Available(&c.outflow)
}

// appendData encodes the message in f as far as the windows and the batch
// allow, and queues the rest. It reports whether all of it is encoded.
func (c *Conn) appendData(s *Stream, f *Frames) bool {
	if c.sendsAtOnce(s, f) {
		size := len(f.Prefix) + f.Data.Len()
		s.out.Take(&c.outflow, uint32(size))
		c.sentWork = true
		end := f.End && f.Trailers == nil
		c.out.reserve(frame.HeaderLen+size, c.cfg.Pool)
		b := frame.AppendDataHeader(c.out.b, s.id, size, end)
		b = append(b, f.Prefix[:]...)
		for _, d := range f.Data {
			b = append(b, d.ReadOnlyData()...)
			d.Free()
		}
		c.out.b = b
		if end {
			c.endLocal(s)
		}
		return true
	}
	s.pending = &sendQueue{}
	s.pending.push(f)
	if s.out.Window() > 0 {
		c.sched.add(s)
	}
	return false
}

// tailed is how a batch ends whose last frame has an uncopied tail.
type tailed struct {
	tail  []byte
	ref   mem.Buffer
	last  *Stream // if nothing more waits on it, for drained once the batch is taken
	ended bool
}

// fill moves waiting DATA into the batch, one frame from each stream in turn.
//
// A frame with an uncopied tail ends the batch.
func (c *Conn) fill() (t tailed) {
	for !c.sched.empty() {
		room := c.cfg.maxBatch() - len(c.out.b) - frame.HeaderLen
		if room < minFrame {
			return t
		}
		s := c.sched.head
		q := s.pending
		n := min(q.size, int(s.out.Available(&c.outflow)), int(c.remote.maxFrame), room)
		if n == 0 && q.size > 0 {
			if s.out.Window() > 0 {
				return t // the connection's window is used up
			}
			c.sched.remove(s)
			continue
		}
		n, copied := q.divide(n)
		s.out.Take(&c.outflow, uint32(n))
		c.sentWork = true
		last := n == q.size
		end := last && q.end && q.trailers == nil
		c.out.reserve(frame.HeaderLen+copied, c.cfg.Pool)
		b := frame.AppendDataHeader(c.out.b, s.id, n, end)
		c.out.b = q.appendTo(b, copied)
		if copied < n {
			t.tail, t.ref = q.takeTail(n - copied)
		}
		if q.size < sendBuffer {
			s.signalSpace()
		}
		switch {
		case !last:
			c.sched.rotate()
		case t.ref != nil:
			t.last, t.ended = s, end
		default:
			c.drained(s, end)
		}
		if t.ref != nil {
			return t
		}
	}
	return t
}

// drained follows the last byte that waited on s.
func (c *Conn) drained(s *Stream, ended bool) {
	c.sched.remove(s)
	trailers := s.pending.trailers
	s.pending = nil
	switch {
	case ended:
		c.endLocal(s)
	case trailers != nil:
		// A failure here has reset the stream; the caller of Send is gone.
		_ = c.appendTrailers(s, trailers)
	}
}

func (s *Stream) signalSpace() {
	if s.space != nil {
		close(s.space)
		s.space = nil
	}
}

func (c *Conn) appendTrailers(s *Stream, f FieldSource) error {
	err := c.appendHeaders(s, f, true)
	if err != nil {
		c.appendReset(s.id, frame.InternalError)
		c.finish(s)
	}
	return err
}

// endLocal follows our END_STREAM on s.
func (c *Conn) endLocal(s *Stream) {
	s.state, _ = s.state.next(sendEnd)
	if s.state == stateClosed {
		c.finish(s)
		return
	}
	if c.side.resetsUnread() {
		c.appendReset(s.id, frame.NoError)
		c.finish(s)
	}
}

// finish forgets s, which is over on both sides.
func (c *Conn) finish(s *Stream) {
	if s.state.canRecv() {
		c.table.cutOff.grow(s.id)
	}
	s.state = stateClosed
	c.dropPending(s)
	s.signalSpace()
	if !c.table.remove(s) {
		return
	}
	if s.opener != c.side && !s.handled {
		s.counted = true
		c.zombies++
	} else {
		c.settle(s)
	}
	if s.opener != c.side {
		c.wakeReaderLocked() // there may be a place now
	}
	if c.table.open() == 0 {
		c.lastStreamGone()
	}
}

// dropPending frees what waits to be sent on s.
func (c *Conn) dropPending(s *Stream) {
	c.sched.remove(s)
	if s.pending != nil {
		s.pending.drop()
		s.pending = nil
	}
}

func (c *Conn) appendWindowUpdate(id, inc uint32) {
	c.out.reserve(frame.HeaderLen+4, c.cfg.Pool)
	c.out.b = frame.AppendWindowUpdate(c.out.b, id, inc)
	c.updates++
}

func (c *Conn) appendReset(id uint32, code frame.ErrCode) {
	c.out.reserve(frame.HeaderLen+4, c.cfg.Pool)
	c.out.b = frame.AppendRSTStream(c.out.b, id, code)
}
