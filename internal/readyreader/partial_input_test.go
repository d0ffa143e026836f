// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
)

// stockOf returns a PartialInput of n bytes in a buffer of size, of which skip are used.
func stockOf(n, size, skip int) (*PartialInput, []byte) {
	s := &PartialInput{Pool: mem.DefaultBufferPool()}
	buf := s.Pool.Get(size)
	for i := range (*buf)[:n] {
		(*buf)[i] = byte(i)
	}
	want := bytes.Clone((*buf)[skip:n])
	s.Set(buf, n)
	s.Skip(skip)
	return s, want
}

// What is held at a wait is in no buffer, or in one near its size; room that was asked for stays.
func TestPartialInputSettle(t *testing.T) {
	for _, tt := range []struct{ n, skip, size, most, to, room int }{
		{n: 0, size: 4096},
		{n: 100, skip: 100, size: 4096},
		{n: 64, size: 4096},
		{n: 164, skip: 100, size: 4096},
		{n: 65, size: 4096, most: 65, to: 65},
		{n: 1000, skip: 500, size: 4096, most: 500, to: 700, room: 200},
		{n: 1000, size: 1000, most: 1000, to: 1000},
		{n: 1000, size: 2000, most: 2000, to: 1000, room: 1000}, // it may stay
	} {
		s, want := stockOf(tt.n, tt.size, tt.skip)
		s.Settle(tt.most, tt.to)
		if !bytes.Equal(s.Bytes(), want) {
			t.Errorf("%+v: other bytes", tt)
		}
		if small := len(want) <= smallTail; small != (s.Memory() == 0) {
			t.Errorf("%+v: %d bytes of a buffer are held", tt, s.Memory())
		}
		loan := s.Borrow(0)
		if loan.Room() != tt.room {
			t.Errorf("%+v: room for %d", tt, loan.Room())
		}
		loan.Done(0)
		s.Drop()
	}
}

// A read lands behind the bytes, where they are or in a buffer taken when input is there.
func TestPartialInputBorrow(t *testing.T) {
	for _, tt := range []struct{ n, size, read int }{{10, 4096, 50}, {64, 64, 50}, {1000, 1000, 1}, {0, 4096, 10}} {
		s, want := stockOf(tt.n, tt.size, 0)
		s.Settle(tt.size, tt.size)
		for _, fail := range []bool{true, false} {
			loan := s.Borrow(0)
			buf := loan.Get(tt.read)
			if fail {
				loan.Put(buf)
				loan.Done(0)
				continue
			}
			for i := range *buf {
				(*buf)[i] = 'x'
			}
			loan.Done(tt.read)
			want = append(want, bytes.Repeat([]byte{'x'}, tt.read)...)
		}
		if !bytes.Equal(s.Bytes(), want) {
			t.Errorf("%+v: other bytes", tt)
		}
		s.Drop()
	}
}

// Only a full buffer is replaced, and what has no buffer gets none.
func TestPartialInputGrow(t *testing.T) {
	for _, tt := range []struct{ n, skip, size, grow, room int }{
		{n: 100, size: 4096, grow: 200, room: 3996},
		{n: 4096, size: 4096, grow: 8192, room: 4096},
		{n: 4000, skip: 3900, size: 4096, grow: 200, room: 3996},
		{n: 100, size: 4096, grow: 1 << 20, room: 3996},
	} {
		s, want := stockOf(tt.n, tt.size, tt.skip)
		s.Grow(tt.grow)
		loan := s.Borrow(0)
		if !bytes.Equal(s.Bytes(), want) || loan.Room() != tt.room {
			t.Errorf("%+v: room for %d", tt, loan.Room())
		}
		loan.Done(0)
		s.Drop()
	}
	s := &PartialInput{Pool: mem.DefaultBufferPool()}
	if s.Grow(100); s.Memory() != 0 {
		t.Error("a buffer for nothing")
	}
}
