// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
)

// sendBuffer is how many bytes of DATA may wait on a stream before Room says
// that there is none.
const sendBuffer = 128 << 10

// Stream is one HTTP/2 stream. It is meant to be a field of its owner's own
// stream, so that both are one allocation. Its methods may be called by any
// goroutine.
type Stream struct {
	// Set by Init, and by the connection before the stream is in its table.
	conn   *Conn
	recv   Receiver
	id     uint32
	opener Side

	// Guarded by conn.mu.
	state   streamState
	handled bool // Done was called
	settled bool // nothing is charged for it any more
	counted bool // stands among the handlers whose stream is gone
	out     flow.Outflow
	in      flow.Inflow
	pending *sendQueue    // what the windows have not let through yet
	space   chan struct{} // a sender waits for room; closed when there is some
	held    int           // bytes that the account was charged for it, but for shared
	shared  *Shared       // what was made of the header block that it began with

	// The scheduler's ring; guarded by conn.mu.
	next, prev *Stream
}

// Init prepares a stream whose events go to recv. Where the peer opens it, cost is the
// memory, in bytes, that it takes.
func (s *Stream) Init(recv Receiver, cost int) { s.recv, s.held = recv, cost }

// ID is the stream's identifier, 0 before it is open.
func (s *Stream) ID() uint32 { return s.id }

// Frames is what one call of Send puts on the wire in one piece: a header
// block, a message, trailers, each of them optional.
type Frames struct {
	Headers FieldSource

	// Prefix precedes Data in the same body. Data is given to the connection,
	// which frees it in every case.
	Prefix  [5]byte
	HasData bool
	Data    mem.BufferSlice
	// Optional says that the body is left out unless all of it can be encoded at once:
	// it never waits for a window.
	Optional bool

	Trailers FieldSource // end the stream
	End      bool        // END_STREAM on whatever comes last
}

// ends reports whether the local side is done once the frames are sent.
func (f *Frames) ends() bool { return f.End || f.Trailers != nil }

// Send queues f and sees to it that someone writes it. It does not wait: see
// Room for back-pressure. An error means that nothing of f will be sent, or,
// for trailers over the peer's limit, that the stream was reset.
func (s *Stream) Send(f Frames) error {
	c := s.conn
	c.mu.Lock()
	err := s.queue(&f)
	c.unlockAndFlush()
	return err
}

// Queue is Send for the reader, within a call of its Handler or Receiver: what is
// queued is written when the batch ends.
func (s *Stream) Queue(f Frames) error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.queue(&f)
}

// queue takes f, unless the stream can't send it any more. mu is held.
func (s *Stream) queue(f *Frames) error {
	if !s.state.canSend() || s.conn.dead || s.pending != nil && s.pending.end {
		f.Data.Free()
		return ErrStreamDone
	}
	return s.conn.appendFrames(s, f)
}

// Room returns nil if the stream takes another message, else a channel that is
// closed when it does or when the stream is over.
func (s *Stream) Room() <-chan struct{} {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.pending == nil || s.pending.size < sendBuffer {
		return nil
	}
	if s.space == nil {
		s.space = make(chan struct{})
	}
	return s.space
}

// Consume says that n bytes of the body were taken, so that the peer may send as many
// again, and that freed bytes of the memory they were in are not held for it any
// more.
func (s *Stream) Consume(n, freed int) { s.grant((*flow.Inflow).Consume, n, freed) }

// Expect says that the application waits for n bytes of the body that have not
// arrived, and that the window must not be what keeps them.
func (s *Stream) Expect(n int) { s.grant((*flow.Inflow).Expect, n, 0) }

// Refund says that freed bytes of memory are not held for the peer any more.
func (s *Stream) Refund(freed int) {
	c := s.conn
	c.mu.Lock()
	c.refund(s, freed)
	c.show()
	c.mu.Unlock()
}

// refund takes n bytes off what is held for s. mu is held.
func (c *Conn) refund(s *Stream, n int) {
	if !s.settled {
		s.held -= n
		c.account.refund(n)
	}
}

func (s *Stream) grant(by func(*flow.Inflow, uint32) uint32, n, freed int) {
	c := s.conn
	if n <= 0 {
		return
	}
	c.mu.Lock()
	if freed > 0 {
		c.refund(s, freed)
		c.show()
	}
	if !s.state.canRecv() || c.dead {
		c.mu.Unlock()
		return
	}
	if inc := by(&s.in, uint32(n)); inc > 0 {
		c.appendWindowUpdate(s.id, inc)
	}
	c.unlockAndFlush()
}

// Reset ends the stream at once on both sides: RST_STREAM with code, unless it
// has ended already. Data that waits is dropped. The Receiver is not told.
func (s *Stream) Reset(code frame.ErrCode) {
	c := s.conn
	c.mu.Lock()
	if s.state == stateIdle || s.state == stateClosed || c.dead {
		c.mu.Unlock()
		return
	}
	c.appendReset(s.id, code)
	c.finish(s)
	c.unlockAndFlush()
}

// Done says that the handler of a stream which the peer opened has returned, or
// will never run. It is called once for each stream that was Opened. Until then
// the handler counts among those that an abusive peer can pile up, once its
// stream is gone for whatever reason, all alike; called before the last frame is
// sent it never counts at all.
func (s *Stream) Done() {
	c := s.conn
	c.mu.Lock()
	s.handled = true
	if s.counted {
		s.counted = false
		c.settle(s)
		c.show()
		c.zombies--
		c.hopeless = false
		c.wakeReaderLocked()
	}
	c.mu.Unlock()
}

// sendQueue is DATA, and what follows it, that could not be sent at once.
type sendQueue struct {
	bufs     mem.BufferSlice
	off      int // how much of bufs[0] is sent
	size     int // bytes left in all
	trailers FieldSource
	end      bool
}

func (q *sendQueue) push(f *Frames) {
	if f.HasData {
		q.bufs = append(q.bufs, mem.SliceBuffer(append([]byte(nil), f.Prefix[:]...)))
		q.size += len(f.Prefix)
	}
	for _, b := range f.Data {
		if b.Len() == 0 {
			b.Free() // nobody will come to its end
			continue
		}
		q.bufs = append(q.bufs, b)
		q.size += b.Len()
	}
	q.trailers = f.Trailers
	q.end = f.ends()
}

// divide says how the next frame of at most n bytes is made: size bytes, the
// first of which are to be copied, up to where a piece begins that is long
// enough to be written from where it is.
func (q *sendQueue) divide(n int) (size, copied int) {
	off := q.off
	for _, b := range q.bufs {
		rest := b.Len() - off
		if fit := min(rest, n-size); fit >= uncopied {
			return size + fit, size
		}
		if size += rest; size >= n {
			return n, n
		}
		off = 0
	}
	return size, size
}

// appendTo moves the next n bytes of the queue to dst.
func (q *sendQueue) appendTo(dst []byte, n int) []byte {
	for n > 0 {
		data := q.bufs[0].ReadOnlyData()[q.off:]
		data = data[:min(len(data), n)]
		dst = append(dst, data...)
		n -= len(data)
		q.advance(len(data))
	}
	return dst
}

// takeTail moves the next n bytes, which are in one piece, out of the queue
// without a copy. ref keeps them alive.
func (q *sendQueue) takeTail(n int) (tail []byte, ref mem.Buffer) {
	ref = q.bufs[0]
	ref.Ref()
	tail = ref.ReadOnlyData()[q.off : q.off+n]
	q.advance(n)
	return tail, ref
}

// advance drops n bytes of the first buffer.
func (q *sendQueue) advance(n int) {
	q.size -= n
	if q.off += n; q.off < q.bufs[0].Len() {
		return
	}
	q.bufs[0].Free()
	q.bufs[0] = nil
	q.bufs = q.bufs[1:]
	q.off = 0
}

func (q *sendQueue) drop() {
	q.bufs.Free()
	*q = sendQueue{}
}
