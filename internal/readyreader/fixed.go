// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bufio"
	"io"
)

// firstFixed is how large a fixed buffer is before a read has filled it: connections of
// small messages never need more.
const firstFixed = 4 << 10

// tries is how many reads in a row may return nothing.
const tries = 100

// fixed is a Buffered that keeps one buffer for the life of the connection. It is for connections that
// can't wait for input without a buffer, and for when pooling is off. The buffer grows up to its size if a
// read fills it, or if more bytes are wanted than fit in it.
type fixed struct {
	conn io.Reader
	size int
	buf  []byte // the unparsed bytes are buf[r:w]
	r, w int
	late error // an error that came with bytes; returned once these are used up
}

func newFixed(conn io.Reader, size int) *fixed {
	return &fixed{conn: conn, size: size, buf: make([]byte, min(size, firstFixed))}
}

func (f *fixed) Peek(n int) ([]byte, error) {
	if n < 0 {
		return nil, bufio.ErrNegativeCount
	}
	if n > f.size {
		return nil, errTooLarge
	}
	for f.Buffered() < n {
		if err := f.fill(n); err != nil {
			return nil, endOfStream(err, f.Buffered())
		}
	}
	return f.buf[f.r : f.r+n : f.r+n], nil
}

// TryPeek reads nothing: a read would wait.
func (f *fixed) TryPeek(n int) ([]byte, error) {
	if n <= f.size && n > f.Buffered() {
		return nil, ErrWouldBlock
	}
	return f.Peek(n)
}

func (f *fixed) Discard(n int) (int, error) {
	if n < 0 {
		return 0, bufio.ErrNegativeCount
	}
	dropped := 0
	for {
		k := min(n-dropped, f.Buffered())
		f.r += k
		dropped += k
		if dropped == n {
			return n, nil
		}
		if err := f.fill(1); err != nil {
			return dropped, err
		}
	}
}

func (f *fixed) Buffered() int { return f.w - f.r }

func (f *fixed) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if f.Buffered() == 0 {
		if len(p) >= len(f.buf) && f.late == nil {
			n, err := f.conn.Read(p)
			if n > 0 && err != nil {
				f.late, err = err, nil
			}
			return n, err
		}
		if err := f.fill(1); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.buf[f.r:f.w])
	f.r += n
	return n, nil
}

// Release drops the bytes. The buffer is freed with the connection.
func (f *fixed) Release() { f.r, f.w = 0, 0 }

// fill adds at least one byte to the unparsed ones, or fails. The caller wants n unparsed bytes in all.
func (f *fixed) fill(n int) error {
	if err := f.late; err != nil {
		f.late = nil
		return err
	}
	f.room(n)
	for range tries {
		n, err := f.conn.Read(f.buf[f.w:])
		f.w += n
		switch {
		case n > 0:
			f.late = err
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

// room moves the unparsed bytes to the beginning of the buffer. It moves them to a larger buffer if n bytes
// do not fit, or if the last read filled this one.
func (f *fixed) room(n int) {
	to := f.buf
	if size := len(f.buf); size < f.size && (n > size || f.w == size) {
		to = make([]byte, min(max(2*size, n), f.size))
	}
	if f.r > 0 || len(to) > len(f.buf) { // else nothing moves
		f.w = copy(to, f.buf[f.r:f.w])
		f.r, f.buf = 0, to
	}
}
