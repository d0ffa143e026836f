// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// smallTail is how many bytes are worth an array of their own: a frame header and then
// some. An idle peer that sent half of one pins no pooled buffer.
const smallTail = 64

// PartialInput is input that has arrived and is not used yet: the rest of a frame, or of a record.
// While there is more to be read at once it lies in a lent buffer, of whatever size. Before a
// wait [PartialInput.Settle] moves it to memory of about its own length, so that what a peer makes us
// hold is what it sent. Empty it holds no memory at all.
//
// It belongs to whoever reads.
type PartialInput struct {
	Pool mem.BufferPool // lends the buffers

	buf  *[]byte          // ours to put back; nil: the bytes lie in tail
	tail *[smallTail]byte // made when it is needed, which is rare
	r, w int              // the bytes are [r:w] of either
}

// Len is the number of bytes.
func (s *PartialInput) Len() int { return s.w - s.r }

// Bytes are valid until they are moved or dropped: by any method but Len, Skip and Memory.
func (s *PartialInput) Bytes() []byte { return s.store()[s.r:s.w] }

func (s *PartialInput) store() []byte {
	switch {
	case s.buf != nil:
		return *s.buf
	case s.tail != nil:
		return s.tail[:]
	}
	return nil
}

// Memory is the size, in bytes, of the lent buffer.
func (s *PartialInput) Memory() int {
	if s.buf == nil {
		return 0
	}
	return cap(*s.buf)
}

// Skip makes the first n bytes used. Their memory stays as it is until Drop.
func (s *PartialInput) Skip(n int) { s.r += n }

// Drop forgets all bytes and gives the buffer back.
func (s *PartialInput) Drop() { s.Set(nil, 0) }

// Set makes the first n bytes of buf, which is s's from now on, the only ones.
func (s *PartialInput) Set(buf *[]byte, n int) {
	if s.buf != nil {
		s.Pool.Put(s.buf)
	}
	s.buf, s.r, s.w = buf, 0, n
}

// Settle gets ready for a wait. A few bytes move out of the buffer, and more to one of size
// bytes, if that which they are in has more than most.
func (s *PartialInput) Settle(most, size int) {
	switch held := s.Bytes(); {
	case s.buf == nil:
	case len(held) == 0:
		s.Drop()
	case len(held) <= smallTail:
		if s.tail == nil {
			s.tail = new([smallTail]byte)
		}
		s.Set(nil, copy(s.tail[:], held))
	case len(*s.buf) > most:
		s.move(size)
	}
}

// Grow makes room behind the bytes, for size of them in all. Only a full buffer is replaced:
// if size is twice the bytes, they are moved once per doubling. What lies in no buffer stays
// there, as Borrow takes one when input has come.
func (s *PartialInput) Grow(size int) {
	if s.buf == nil {
		return
	}
	if s.Len() < len(*s.buf) {
		size = min(size, len(*s.buf))
	}
	switch {
	case size <= len(*s.buf)-s.r: // as it is
	case size <= len(*s.buf):
		s.compact()
	default:
		s.move(size)
	}
}

// Extend reads what can be had at once behind the bytes, into the same buffer. That has to
// have size bytes at least, or else it is ErrWouldBlock.
func (s *PartialInput) Extend(from interface{ TryReadInto([]byte) (int, error) }, size int) error {
	if s.buf == nil || len(*s.buf) < size {
		return ErrWouldBlock
	}
	s.compact()
	n, err := from.TryReadInto((*s.buf)[s.w:])
	s.w += n
	return err
}

func (s *PartialInput) compact() { s.w, s.r = copy(*s.buf, s.Bytes()), 0 }

func (s *PartialInput) move(size int) {
	buf := s.Pool.Get(size)
	s.Set(buf, copy(*buf, s.Bytes()))
}

// Borrow returns the pool for one read of input that is to follow the bytes. What it lends is
// the room behind them; where there is none it takes a buffer of at least so many bytes at the
// moment of the loan, when input is there. [Loan.Done] ends it.
//
// Where Settle has left no room, s may be dropped before Done, which then must be told of 0
// bytes.
func (s *PartialInput) Borrow(least int) *Loan {
	l := loans.Get().(*Loan)
	l.to, l.pool, l.least, l.skip = s, s.Pool, least, s.Len()
	if s.buf != nil {
		l.room = (*s.buf)[s.w:]
	}
	return l
}

// Loan is a pool for one read: see [PartialInput.Borrow].
type Loan struct {
	to          *PartialInput
	pool        mem.BufferPool
	least, skip int
	room        []byte  // behind the bytes, where they are
	taken       *[]byte // or a buffer taken for the loan, with room for them
	window      []byte  // what was lent
}

var loans = sync.Pool{New: func() any { return new(Loan) }}

// Room is the most that one read can get where the bytes are, 0 if a buffer is to be taken.
func (l *Loan) Room() int { return len(l.room) }

// Get implements mem.BufferPool.
func (l *Loan) Get(n int) *[]byte {
	if len(l.room) > 0 {
		l.window = l.room[:min(n, len(l.room))]
		return &l.window
	}
	l.taken = l.pool.Get(max(l.skip+n, l.least))
	l.window = (*l.taken)[l.skip:]
	return &l.window
}

// Put implements mem.BufferPool.
func (l *Loan) Put(*[]byte) {
	if l.taken != nil {
		l.pool.Put(l.taken)
		l.taken = nil
	}
}

// Done ends the loan after a read of n bytes, which are the last ones now.
func (l *Loan) Done(n int) {
	switch s := l.to; {
	case n <= 0:
		l.Put(nil)
	case l.taken == nil:
		s.w += n
	default:
		copy(*l.taken, s.Bytes())
		s.Set(l.taken, l.skip+n)
	}
	*l = Loan{}
	loans.Put(l)
}
