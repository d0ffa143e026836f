// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"testing"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// given is what is in o from off on.
func given(o *outbuf, off int) []byte { return bytes.Join(o.vector(off), nil) }

// TestKeptParcel: whatever of a parcel is written, the rest does not depend on borrowed memory any more.
func TestKeptParcel(t *testing.T) {
	pool := internalmem.NewCounting(internalmem.NewTiered(256, 4096))
	for off := range 40 {
		memory := []byte("borrowed memory")
		b := Borrow(memory)
		var o outbuf
		for i, text := range []string{"one ", "two ", "three "} {
			o.copy([]byte(text), pool)
			b.Ref()
			o.lend(b.ReadOnlyData()[5*i:5*i+5], b)
		}
		o.copy([]byte(" own"), pool)
		o.lend([]byte(" other"), mem.SliceBuffer(" other"))
		want := bytes.Clone(given(&o, off))
		o.keep(off, pool)
		b.Free()
		b.Free()
		<-b.unused
		clear(memory)
		if got := given(&o, off); !bytes.Equal(got, want) {
			t.Errorf("from %d on: %q, want %q", off, got, want)
		}
		o.free(pool)
	}
	if s := pool.Stats(); s.Buffers != 0 {
		t.Errorf("%d buffers are lent", s.Buffers)
	}
}

// TestKeptQueue: the same of a queue.
func TestKeptQueue(t *testing.T) {
	pool := internalmem.NewCounting(internalmem.NewTiered(256, 4096, 16<<10))
	for _, sent := range []int{0, 3, 8, 9, 1000, 3000, 6007} {
		memory := bytes.Repeat([]byte("borrowed"), 500)
		b := Borrow(memory)
		f := Frames{HasData: true, Data: PiecesOf(mem.BufferSlice{mem.SliceBuffer("head"), b, mem.SliceBuffer(bytes.Repeat([]byte("t"), 2000))})}
		q := newSendQueue(&f, pool)
		want := append(append(make([]byte, 5), "head"...), memory...)
		want = append(want, bytes.Repeat([]byte("t"), 2000)...)[sent:]
		var o outbuf
		o.copy([]byte("x"), pool)
		q.moveTo(&o, sent, 1, pool)
		o.free(pool)
		q.keep(b, pool)
		b.Free()
		<-b.unused
		clear(memory)
		o.copy([]byte("x"), pool)
		if size := q.size; size > 0 {
			q.moveTo(&o, size, 1, pool)
		}
		if got := given(&o, 1); !bytes.Equal(got, want) {
			t.Errorf("after %d: %d bytes, want %d", sent, len(got), len(want))
		}
		o.free(pool)
	}
	if s := pool.Stats(); s.Buffers != 0 {
		t.Errorf("%d buffers are lent", s.Buffers)
	}
}

// TestBorrowedSlice: a part of borrowed memory is a copy.
func TestBorrowedSlice(t *testing.T) {
	memory := []byte("borrowed")
	s := Borrow(memory).Slice(2, 5)
	clear(memory)
	if string(s.ReadOnlyData()) != "rro" {
		t.Errorf("%q", s.ReadOnlyData())
	}
}
