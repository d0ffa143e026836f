// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/mem"

const (
	// SendBuffer is how many bytes of DATA may wait on a stream before the stream is full: see
	// Conn.Full.
	SendBuffer = 128 << 10
	// ShutBuffer is the same while the stream's window is used up. To queue more would not make
	// anything leave sooner.
	ShutBuffer = 64 << 10
)

// sendQueue is the DATA of a stream that could not be sent at once, and what follows that DATA.
type sendQueue struct {
	parts    []dataPart
	off      int // how much of parts[0] is sent
	size     int // bytes left in all
	trailers FieldSource
	end      bool
	space    Waiter // the sender that waits for room by CallRoom; nil: none
	common   Waiter // shared by the senders that wait by AwaitRoom; nil: none

	// The scheduler's ring: the streams whose turns come after and before.
	next, prev *Stream
}

// dataPart is a run of bytes of a sendQueue.
type dataPart struct {
	coalesced *[]byte    // a pooled buffer of small messages, one after the other; nil: ref has the bytes
	ref       mem.Buffer // a piece of a message; the queue owns it
}

// copiedBelow is the length in bytes below which a piece of a message is copied when it has to wait.
// The buffer of a piece takes some hundred bytes besides the piece itself. Without copies, many small
// messages to a peer that does not read would hold far more memory than SendBuffer says.
const copiedBelow = 1 << 10

// The size of a buffer that small messages share, in bytes.
const (
	minCoalesced = 256
	maxCoalesced = 4 << 10
)

func (p *dataPart) data() []byte {
	if p.coalesced != nil {
		return *p.coalesced
	}
	return p.ref.ReadOnlyData()
}

func (p *dataPart) free(pool mem.BufferPool) {
	if p.coalesced != nil {
		pool.Put(p.coalesced)
	} else {
		p.ref.Free()
	}
	*p = dataPart{}
}

// firstFrames is a sendQueue with room for the message that it begins with. Most queues never get
// another one, so that a large message takes one allocation.
type firstFrames struct {
	sendQueue
	room   [2]dataPart
	buf    mem.SliceBuffer // of prefix
	prefix [len(Frames{}.Prefix)]byte
}

// newSendQueue returns a queue that contains f. f must have data.
func newSendQueue(f *Frames, pool mem.BufferPool) *sendQueue {
	q := new(firstFrames)
	q.parts = q.room[:0]
	if f.Data.Len() < copiedBelow {
		q.push(f, pool)
		return &q.sendQueue
	}
	q.prefix = f.Prefix
	q.buf = q.prefix[:]
	q.parts = append(q.parts, dataPart{ref: &q.buf})
	q.size = len(q.prefix)
	q.add(f, pool)
	return &q.sendQueue
}

func (q *sendQueue) push(f *Frames, pool mem.BufferPool) {
	if f.HasData {
		q.copy(f.Prefix[:], pool)
	}
	q.add(f, pool)
}

// add is push without the prefix.
func (q *sendQueue) add(f *Frames, pool mem.BufferPool) {
	for b := range f.Data.All() {
		if b.Len() >= copiedBelow {
			q.parts = append(q.parts, dataPart{ref: b})
			q.size += b.Len()
			continue
		}
		q.copy(b.ReadOnlyData(), pool)
		b.Free()
	}
	q.trailers = f.Trailers
	q.end = f.ends()
}

// copy appends b to the last part, if small messages share that part, and the rest of b to a new part.
// The new part is twice as large, within the bounds. So small messages take at most about twice their
// size.
func (q *sendQueue) copy(b []byte, pool mem.BufferPool) {
	size := minCoalesced
	if n := len(q.parts); n > 0 && q.parts[n-1].coalesced != nil {
		last := q.parts[n-1].coalesced
		b, size = q.fill(last, b), min(2*cap(*last), maxCoalesced)
	}
	for len(b) > 0 {
		buf := pool.Get(max(size, len(b)))
		*buf = (*buf)[:0]
		q.parts = append(q.parts, dataPart{coalesced: buf})
		b = q.fill(buf, b)
	}
}

// fill copies as much of b to buf as fits, and returns the rest.
func (q *sendQueue) fill(buf *[]byte, b []byte) []byte {
	n := min(len(b), cap(*buf)-len(*buf))
	*buf = append(*buf, b[:n]...)
	q.size += n
	return b[n:]
}

// moveTo moves the next n bytes of the queue to o. It copies them, except parts of at least uncopied
// bytes in one piece.
func (q *sendQueue) moveTo(o *Parcel, n, uncopied int, pool mem.BufferPool) {
	for n > 0 {
		p := &q.parts[0]
		data := p.data()[q.off:]
		data = data[:min(len(data), n)]
		if p.coalesced == nil && len(data) >= uncopied {
			p.ref.Ref()
			o.Lend(data, p.ref)
		} else {
			o.Copy(data, pool)
		}
		n -= len(data)
		q.advance(len(data), pool)
	}
}

// advance removes n bytes of the first part.
func (q *sendQueue) advance(n int, pool mem.BufferPool) {
	q.size -= n
	if q.off += n; q.off < len(q.parts[0].data()) {
		return
	}
	q.parts[0].free(pool)
	q.parts = q.parts[1:]
	q.off = 0
}

// drop frees everything that is queued, and wakes the senders that wait for room.
func (q *sendQueue) drop(pool mem.BufferPool) {
	for i := range q.parts {
		q.parts[i].free(pool)
	}
	q.signalSpace()
	*q = sendQueue{}
}

// wait returns a Waiter that signalSpace will wake, and that several callers may share: the one that
// there is, or else a new one.
func (q *sendQueue) wait(newWaiter func() Waiter) Waiter {
	if q.common == nil {
		q.common = newWaiter()
	}
	return q.common
}

// call makes signalSpace wake w, in place of the w of the last call. A nil w changes nothing.
func (q *sendQueue) call(w Waiter) {
	if w != nil {
		q.space = w
	}
}

// signalSpace wakes the senders that wait for room, because there is some, or because the stream is
// over.
func (q *sendQueue) signalSpace() {
	if w := q.space; w != nil {
		q.space = nil
		w.Wake()
	}
	if w := q.common; w != nil {
		q.common = nil
		w.Wake()
	}
}
