// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"errors"
	"io"
)

var (
	errNegativeCount = errors.New("mem: negative count")
	errShort         = errors.New("insufficient bytes in reader")
)

// Reader reads the bytes of a [BufferSlice] and gives up its reference to each Buffer as
// soon as it is past it. Close gives up the others. The zero Reader is at its end. A Reader is for
// one goroutine at a time.
type Reader struct {
	buffers   BufferSlice // from the current one on; a reference to each is ours
	current   []byte      // unread bytes of buffers[0]; empty only at the end
	remaining int
}

// Reset gives up what the Reader holds and begins with s, taking a reference to each
// of its Buffers.
func (r *Reader) Reset(s BufferSlice) {
	s.Ref() // before freeing: the Buffers may be the same
	r.buffers.Free()
	r.buffers, r.current, r.remaining = s, nil, s.Len()
	if len(s) > 0 {
		r.current = s[0].ReadOnlyData()
		r.settle()
	}
}

// Close gives up all references. The Reader is then at its end, and may be Reset. It
// returns nil, also when called again.
func (r *Reader) Close() error {
	r.buffers.Free()
	*r = Reader{}
	return nil
}

// Remaining returns the number of unread bytes.
func (r *Reader) Remaining() int { return r.remaining }

// Read implements [io.Reader]. At the end it returns io.EOF, for an empty dst too.
func (r *Reader) Read(dst []byte) (int, error) {
	if r.remaining == 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(dst) && r.remaining > 0 {
		c := copy(dst[n:], r.current)
		r.advance(c)
		n += c
	}
	return n, nil
}

// ReadByte implements [io.ByteReader]; at the end it returns io.EOF.
func (r *Reader) ReadByte() (byte, error) {
	if r.remaining == 0 {
		return 0, io.EOF
	}
	b := r.current[0]
	r.advance(1)
	return b, nil
}

// Discard skips n bytes and returns how many it skipped. If that is fewer than n, there is an
// error. A negative n is an error and skips nothing.
func (r *Reader) Discard(n int) (int, error) {
	if n < 0 {
		return 0, errNegativeCount
	}
	skip, err := min(n, r.remaining), r.shortfall(n)
	for left := skip; left > 0; {
		c := min(left, len(r.current))
		r.advance(c)
		left -= c
	}
	return skip, err
}

// Peek appends the next n bytes to dst, as slices of the Buffers themselves, and does not
// advance. Each of them is read only, and valid until the Reader has moved
// past its last byte or is closed. If fewer than n bytes remain it returns nil and an
// error. A negative n is an error.
func (r *Reader) Peek(n int, dst [][]byte) ([][]byte, error) {
	if n < 0 {
		return dst, errNegativeCount
	}
	if err := r.shortfall(n); err != nil {
		return nil, err
	}
	part := r.current
	for i, left := 0, n; left > 0; {
		part = part[:min(left, len(part))]
		if len(part) > 0 {
			dst = append(dst, part[:len(part):len(part)])
		}
		if left -= len(part); left > 0 {
			i++
			part = r.buffers[i].ReadOnlyData()
		}
	}
	return dst, nil
}

func (r *Reader) shortfall(n int) error {
	if n > r.remaining {
		return errShort
	}
	return nil
}

// advance moves within the current Buffer, at most to its end.
func (r *Reader) advance(n int) {
	r.current = r.current[n:]
	r.remaining -= n
	if len(r.current) == 0 {
		r.settle()
	}
}

// settle leaves the Buffers that are read, so that current has a byte unless nothing remains.
func (r *Reader) settle() {
	for len(r.current) == 0 && len(r.buffers) > 0 {
		r.buffers[0].Free()
		r.buffers = r.buffers[1:]
		if len(r.buffers) > 0 {
			r.current = r.buffers[0].ReadOnlyData()
		} else {
			r.current = nil
		}
	}
}

// Reader returns a Reader of the bytes, with references of its own to all Buffers: s may
// be freed at once. The Reader works on the elements of s in place, which must not be
// replaced before it is at its end or closed.
func (s BufferSlice) Reader() *Reader {
	r := new(Reader)
	r.Reset(s)
	return r
}
