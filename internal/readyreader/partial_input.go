// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// smallTail is how many bytes get an array of their own: a frame header and a little more. So an idle peer
// that has sent half of one ties up no pooled buffer.
const smallTail = 64

// PartialInput is input that has arrived and is not used yet: part of a frame, or of a record. While more
// can be read at once, it lies in a buffer of any size, which Pool lends. Before a wait
// [PartialInput.Settle] moves it to memory of about its own length, so that a peer makes us hold only what
// it sent. After Settle, an empty PartialInput holds no buffer.
//
// It belongs to the goroutine that reads.
type PartialInput struct {
	Pool mem.BufferPool // lends the buffers

	buf  *[]byte          // ours to put back; nil: the bytes lie in tail
	tail *[smallTail]byte // made when it is needed, which is rare
	r, w int              // the bytes are [r:w] of either
}

// Len returns the number of bytes.
func (s *PartialInput) Len() int { return s.w - s.r }

// Bytes returns the bytes. They are valid until a method other than Bytes, Len, Skip or Memory is called.
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

// Memory returns the size, in bytes, of the lent buffer.
func (s *PartialInput) Memory() int {
	if s.buf == nil {
		return 0
	}
	return cap(*s.buf)
}

// Skip marks the first n bytes as used. Their memory stays as it is until the others are moved or dropped.
func (s *PartialInput) Skip(n int) { s.r += n }

// Drop forgets all bytes and gives the buffer back.
func (s *PartialInput) Drop() { s.Set(nil, 0) }

// Set replaces all bytes by the first n of buf, which belongs to s from now on. The buffer that s had goes
// back to Pool.
func (s *PartialInput) Set(buf *[]byte, n int) {
	if s.buf != nil {
		s.Pool.Put(s.buf)
	}
	s.buf, s.r, s.w = buf, 0, n
}

// Settle prepares for a wait. Up to smallTail bytes move from the buffer to an array. More bytes move to a
// buffer of size bytes, if the buffer that they are in is larger than most.
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

// Grow makes room behind the bytes, so that size fit in all. It replaces only a full buffer: if size is
// twice the number of bytes, they are moved once per doubling. Bytes that lie in no buffer stay where they
// are: Borrow takes a buffer when input has come.
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

// Extend reads what can be had at once into the buffer, behind the bytes. It returns ErrWouldBlock if there
// is no buffer of at least size bytes.
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

// Borrow returns a pool for one read of input that follows the bytes. The pool lends the room behind the
// bytes. If there is no room, it takes a buffer of least bytes or more from Pool, at the moment of the loan,
// when input is there. [Loan.Done] ends the loan.
//
// If Settle has left no room, the caller may drop s before Done, which it must then tell of 0 bytes.
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

// Room returns how many bytes one read can get behind the bytes at most, or 0 if the loan takes a buffer.
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

// Done ends the loan after a read of n bytes, and appends these to the bytes of the PartialInput.
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
