// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"testing"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// borrowed is memory that somebody wants back.
type borrowed struct {
	mem.SliceBuffer
	refs int
}

func (b *borrowed) Ref()        { b.refs++ }
func (b *borrowed) Free()       { b.refs-- }
func (b *borrowed) IsBorrowed() {}

// given is what is in o from off on.
func given(o *Parcel, off int) []byte { return bytes.Join(o.Vector(off), nil) }

// TestKeptParcel: whatever of a parcel is written, the rest does not depend on borrowed memory any more.
func TestKeptParcel(t *testing.T) {
	pool := internalmem.NewTiered(256, 4096)
	for off := range 40 {
		memory := []byte("borrowed memory")
		b := &borrowed{SliceBuffer: memory, refs: 2}
		var o Parcel
		for i, text := range []string{"one ", "two ", "three "} {
			o.Copy([]byte(text), pool)
			b.Ref()
			o.Lend(b.ReadOnlyData()[5*i:5*i+5], b)
		}
		o.Copy([]byte(" own"), pool)
		o.Lend([]byte(" other"), mem.SliceBuffer(" other"))
		want := bytes.Clone(given(&o, off))
		o.Keep(off, pool)
		b.Free()
		b.Free()
		if b.refs != 0 {
			t.Fatalf("%d references are left", b.refs)
		}
		clear(memory)
		if got := given(&o, off); !bytes.Equal(got, want) {
			t.Errorf("from %d on: %q, want %q", off, got, want)
		}
		o.Free(pool)
	}
	if s := pool.Stats(); s.Buffers != 0 {
		t.Errorf("%d buffers are lent", s.Buffers)
	}
}

// TestKeptQueue: the same of a queue.
func TestKeptQueue(t *testing.T) {
	pool := internalmem.NewTiered(256, 4096, 16<<10)
	for _, sent := range []int{0, 3, 8, 9, 1000, 3000, 6007} {
		memory := bytes.Repeat([]byte("borrowed"), 500)
		b := &borrowed{SliceBuffer: memory, refs: 2}
		f := Frames{HasData: true, Data: PiecesOf(mem.BufferSlice{mem.SliceBuffer("head"), b, mem.SliceBuffer(bytes.Repeat([]byte("t"), 2000))})}
		q := newSendQueue(&f, pool)
		want := append(append(make([]byte, 5), "head"...), memory...)
		want = append(want, bytes.Repeat([]byte("t"), 2000)...)[sent:]
		sendAndKeep(q, sent, b, pool)
		if b.refs != 0 {
			t.Fatalf("%d references are left", b.refs)
		}
		clear(memory)
		var o Parcel
		o.Copy([]byte("x"), pool)
		if size := q.size; size > 0 {
			q.moveTo(&o, size, 1, pool)
		}
		if got := given(&o, 1); !bytes.Equal(got, want) {
			t.Errorf("after %d: %d bytes, want %d", sent, len(got), len(want))
		}
		o.Free(pool)
	}
	if s := pool.Stats(); s.Buffers != 0 {
		t.Errorf("%d buffers are lent", s.Buffers)
	}
}

// TestKeptInSmallCopies: what is left of a large message takes copies of one size, so that the pool does
// not keep an array of each size that was ever left.
func TestKeptInSmallCopies(t *testing.T) {
	pool := internalmem.NewTiered(256, 4096, keptPiece, 1<<20)
	memory := make([]byte, 1<<20)
	for i := range memory {
		memory[i] = byte(i % 251)
	}
	for _, sent := range []int{5, 6, 300_000, 1<<20 - 10, 1<<20 + 4} {
		b := &borrowed{SliceBuffer: memory, refs: 2}
		f := Frames{HasData: true, Data: PiecesOf(mem.BufferSlice{b})}
		q := newSendQueue(&f, pool)
		sendAndKeep(q, sent, b, pool)
		var got []byte
		for i := range q.parts {
			if n := cap(q.parts[i].data()); n > keptPiece {
				t.Errorf("after %d: a copy of %d bytes", sent, n)
			}
			got = append(got, q.parts[i].data()...)
		}
		if want := memory[sent-5:]; !bytes.Equal(got, want) || q.size != len(want) {
			t.Errorf("after %d: %d bytes, size %d, want %d", sent, len(got), q.size, len(want))
		}
		q.drop(pool)
	}
	if s := pool.Stats(); s.Buffers != 0 {
		t.Errorf("%d buffers are lent", s.Buffers)
	}
}

// sendAndKeep sends the first bytes of q, and then gives b back to its owner.
func sendAndKeep(q *sendQueue, sent int, b *borrowed, pool mem.BufferPool) {
	var o Parcel
	o.Copy([]byte("x"), pool)
	q.moveTo(&o, sent, 1, pool)
	o.Free(pool)
	q.keep(b, pool)
	b.Free()
}
