// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bufio"
	"errors"
	"io"
	"os"
	"syscall"

	"google.golang.org/grpc/mem"
)

// smallTail is how many unparsed bytes are worth an array of their own: a frame
// header and then some. An idle peer that sent half of one pins no pooled buffer.
const smallTail = 64

// pooled is Buffered with a buffer that is held only while bytes are in it.
//
// The unparsed bytes are store()[r:w]. They lie in a lent buffer of full size
// while parsing goes on; before a wait they move (see stash) to memory of about
// their own length, so that what a peer makes us hold is what it sent.
type pooled struct {
	conn io.Reader // for reads straight to the caller's memory
	src  Reader    // for all others
	pool mem.BufferPool

	size int
	r, w int
	buf  *[]byte          // ours to put back; nil: what there is lies in tail
	tail *[smallTail]byte // made when it is needed, which is seldom
	late error            // came with bytes, and is for when these are used up
}

// polled is pooled over a connection that needn't be waited for.
type polled struct{ pooled } // its src is a TryReader

func newPooled(conn io.Reader, src Reader, pool mem.BufferPool, size int) Buffered {
	p := pooled{conn: conn, src: src, pool: pool, size: size}
	if _, ok := src.(TryReader); ok {
		return &polled{p}
	}
	return &p
}

func (b *pooled) Buffered() int { return b.w - b.r }

func (b *pooled) Peek(n int) ([]byte, error) {
	if uint(n) <= uint(b.w-b.r) {
		return b.store()[b.r : b.r+n : b.r+n], nil
	}
	return b.peek(n, b.src.ReadOnReady)
}

func (b *pooled) Discard(n int) (int, error) {
	if n < 0 {
		return 0, bufio.ErrNegativeCount
	}
	dropped := 0
	for {
		k := min(n-dropped, b.Buffered())
		b.consume(k)
		dropped += k
		if dropped == n {
			return n, nil
		}
		if err := b.fillEmpty(b.src.ReadOnReady); err != nil {
			return dropped, err
		}
	}
}

func (b *pooled) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.Buffered() == 0 {
		if len(p) >= b.size && b.late == nil {
			return b.conn.Read(p)
		}
		if err := b.fillEmpty(b.src.ReadOnReady); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.store()[b.r:b.w])
	b.consume(n)
	return n, nil
}

func (b *pooled) Release() { b.consume(b.Buffered()) }

func (b *polled) TryPeek(n int) ([]byte, error) { return b.peek(n, b.src.(TryReader).TryRead) }

func (b *polled) RawConn() syscall.RawConn { return b.src.(TryReader).RawConn() }

// readFunc is ReadOnReady or TryRead: how far a fill goes to get bytes.
type readFunc func(bufSize int, pool mem.BufferPool) (*[]byte, int, error)

func (b *pooled) peek(n int, read readFunc) ([]byte, error) {
	if n < 0 {
		return nil, bufio.ErrNegativeCount
	}
	if n > b.size {
		return nil, ErrTooLarge
	}
	for b.Buffered() < n {
		if err := b.fill(read); err != nil {
			return nil, endOfStream(err, b.Buffered())
		}
	}
	return b.store()[b.r : b.r+n : b.r+n], nil
}

// fill adds at least one byte to fewer than size unparsed ones, or fails and
// leaves these as they are.
func (b *pooled) fill(read readFunc) error {
	if b.Buffered() == 0 {
		return b.fillEmpty(read)
	}
	// A frame split between two reads whose rest is already there is the busy
	// connection's case: the buffer stays, and nothing but the tail moves.
	if err := b.extend(); err != ErrWouldBlock {
		return err
	}
	b.stash()
	buf, n, err := b.lend(read, b.size-b.Buffered())
	if err != nil {
		return err
	}
	b.join(buf, n)
	return nil
}

func (b *pooled) fillEmpty(read readFunc) error {
	buf, n, err := b.lend(read, b.size)
	if err != nil {
		return err
	}
	b.buf, b.r, b.w = buf, 0, n
	return nil
}

// lend is read, made to keep its word: with an error, or with no byte at all,
// the buffer is in the pool again.
func (b *pooled) lend(read readFunc, size int) (*[]byte, int, error) {
	if b.late != nil {
		return nil, 0, b.late
	}
	buf, n, err := read(size, b.pool)
	if buf != nil && n > 0 {
		if err != nil && !isTimeout(err) { // that can be asked for again
			b.late = err
		}
		return buf, n, nil
	}
	if buf != nil {
		b.pool.Put(buf)
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return nil, 0, err
}

// extend appends what can be had at once to the full-sized buffer in hand.
func (b *pooled) extend() error {
	into, ok := b.src.(InPlaceReader)
	if !ok || b.buf == nil || len(*b.buf) < b.size {
		return ErrWouldBlock
	}
	b.w = copy(*b.buf, (*b.buf)[b.r:b.w])
	b.r = 0
	n, err := into.TryReadInto((*b.buf)[b.w:])
	b.w += n
	return err
}

// stash moves the tail out of the large buffer and gives that back.
func (b *pooled) stash() {
	tail := b.store()[b.r:b.w]
	switch {
	case b.buf == nil || len(*b.buf) == len(tail):
		return // it is in its place already
	case len(tail) <= smallTail:
		if b.tail == nil {
			b.tail = new([smallTail]byte)
		}
		copy(b.tail[:], tail)
		b.replace(nil, len(tail))
	default:
		buf := b.pool.Get(len(tail))
		copy(*buf, tail)
		b.replace(buf, len(tail))
	}
}

// join puts the tail and the n bytes that arrived in buf into one buffer. It is
// of full size, so that extend works again, and enough: no more was asked for
// than fits.
func (b *pooled) join(buf *[]byte, n int) {
	whole := b.pool.Get(max(b.size, b.Buffered()+n))
	k := copy(*whole, b.store()[b.r:b.w])
	k += copy((*whole)[k:], (*buf)[:n])
	b.pool.Put(buf)
	b.replace(whole, k)
}

// consume drops n buffered bytes. The buffer goes back with the last of them.
func (b *pooled) consume(n int) {
	b.r += n
	if b.r == b.w {
		b.replace(nil, 0)
	}
}

// replace makes the first n bytes of buf (of tail, if nil) the unparsed ones.
func (b *pooled) replace(buf *[]byte, n int) {
	if b.buf != nil {
		b.pool.Put(b.buf)
	}
	b.buf, b.r, b.w = buf, 0, n
}

func (b *pooled) store() []byte {
	switch {
	case b.buf != nil:
		return *b.buf
	case b.tail != nil:
		return b.tail[:]
	}
	return nil
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// window is the part of a lent buffer to read into: no more than was asked for,
// whatever length the pool gave it.
func window(buf *[]byte, size int) []byte {
	p := *buf
	return p[:min(len(p), max(size, 0))]
}
