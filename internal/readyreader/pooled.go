// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bufio"
	"errors"
	"os"

	"google.golang.org/grpc/mem"
)

// pooled is a Buffered that holds a buffer only while bytes are in it.
type pooled struct {
	src Layer

	sizes
	in   PartialInput // what is not parsed yet
	late error        // an error that ended the input; returned once the bytes before it are used up
}

// sizes are the sizes of reads, in bytes.
type sizes struct {
	size  int
	first int // of the next one; 0: size
}

// shortRead is the size of the first read after one that filled the caller's memory. The payload probably
// goes on, and the caller has to copy there what this read gets of it along with the next frame's header.
const shortRead = 4 << 10

// newPooled returns a pooled. It uses the memory of reuse, which Recycle returned, if that is a pooled.
func newPooled(src Layer, pool mem.BufferPool, sizes sizes, reuse Buffered) *pooled {
	b, ok := reuse.(*pooled)
	if !ok {
		b = new(pooled)
	}
	*b = pooled{src: src, sizes: sizes, in: PartialInput{Pool: pool}}
	return b
}

func (b *pooled) Buffered() int { return b.in.Len() }

func (b *pooled) Peek(n int) ([]byte, error) {
	if uint(n) <= uint(b.in.Len()) {
		return b.in.Bytes()[:n:n], nil
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
			return b.direct(p)
		}
		if err := b.fillEmpty(b.src.ReadOnReady); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.in.Bytes())
	b.consume(n)
	return n, nil
}

// direct reads into the caller's memory.
func (b *pooled) direct(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if n == len(p) {
		b.first = min(shortRead, b.size)
	}
	if n > 0 && err != nil {
		b.keep(err)
		return n, nil
	}
	return n, err
}

// keep stores an error that the system reports only once: the next read would report the end of the stream.
// It stores no timeout, as the next read reports that again.
func (b *pooled) keep(err error) {
	if !Again(err) {
		b.late = err
	}
}

func (b *pooled) Release() { b.in.Drop() }

// Recycle releases b and returns its memory for Options.Reuse. The result holds no buffer and no input. It
// is nil if b can't be used again.
func Recycle(b Buffered) Buffered {
	b.Release()
	p, ok := b.(*pooled)
	if !ok {
		return nil
	}
	*p = pooled{}
	return p
}

func (b *pooled) TryPeek(n int) ([]byte, error) { return b.peek(n, b.src.TryRead) }

// readFunc is ReadOnReady or TryRead: it decides whether a fill waits.
type readFunc func(bufSize int, pool mem.BufferPool) (*[]byte, int, error)

func (b *pooled) peek(n int, read readFunc) ([]byte, error) {
	if n < 0 {
		return nil, bufio.ErrNegativeCount
	}
	if n > b.size {
		return nil, errTooLarge
	}
	for b.Buffered() < n {
		if err := b.fill(read); err != nil {
			return nil, endOfStream(err, b.Buffered())
		}
	}
	return b.in.Bytes()[:n:n], nil
}

// fill adds at least one byte to the unparsed ones, of which there are fewer than size, or fails and leaves
// them as they are.
func (b *pooled) fill(read readFunc) error {
	if b.Buffered() == 0 {
		return b.fillEmpty(read)
	}
	// On a busy connection a frame is often split between two reads, and its rest is already there: the
	// buffer stays, and nothing but the tail moves.
	if err := b.in.Extend(b.src, b.size); err != ErrWouldBlock {
		if err != nil {
			b.keep(err)
		}
		return err
	}
	held := b.in.Len()
	b.in.Settle(held, held)
	loan := b.in.Borrow(0)
	_, n, err := b.lend(read, b.size-held, loan)
	loan.Done(n)
	return err
}

func (b *pooled) fillEmpty(read readFunc) error {
	size := b.size
	if b.first > 0 {
		size = b.first
	}
	buf, n, err := b.lend(read, size, b.in.Pool)
	if err != nil {
		return err
	}
	b.first = 0
	b.in.Set(buf, n)
	return nil
}

// lend calls read, unless the input has ended.
func (b *pooled) lend(read readFunc, size int, pool mem.BufferPool) (*[]byte, int, error) {
	if b.late != nil {
		return nil, 0, b.late
	}
	buf, n, err := read(size, pool)
	if err != nil {
		b.keep(err)
		return nil, 0, err
	}
	return buf, n, nil
}

// consume drops n buffered bytes. The buffer goes back with the last of them.
func (b *pooled) consume(n int) {
	b.in.Skip(n)
	if b.in.Len() == 0 {
		b.in.Drop()
	}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// window returns the part of a lent buffer to read into: at most size bytes, whatever length the pool gave
// it.
func window(buf *[]byte, size int) []byte {
	p := *buf
	return p[:min(len(p), max(size, 0))]
}
