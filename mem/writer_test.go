// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"google.golang.org/grpc/mem"
)

func TestWriter(t *testing.T) {
	pool := newLending(t)
	for _, p := range []mem.BufferPool{pool, nil} {
		var s mem.BufferSlice
		var want []byte
		w := mem.NewWriter(&s, p)
		for _, n := range []int{0, 1, 10, 500, 1, 2000, 100_000, 7, 0} {
			data := randomBytes(n)
			want = append(want, data...)
			if got, err := w.Write(data); got != n || err != nil {
				t.Errorf("Write of %d bytes: %d, %v", n, got, err)
			}
			clear(data) // the Writer has a copy
			if !bytes.Equal(s.Materialize(), want) {
				t.Fatalf("after %d bytes the Buffers hold something else", len(want))
			}
		}
		s.Free()
		pool.want(t, 0)
	}
}

// TestWriterGathers: a compressor writes in small pieces.
func TestWriterGathers(t *testing.T) {
	pool := newLending(t)
	var s mem.BufferSlice
	z := gzip.NewWriter(mem.NewWriter(&s, pool))
	data := randomBytes(100_000)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if len(s) > 12 {
		t.Errorf("%d bytes in %d Buffers", s.Len(), len(s))
	}
	if b := pool.Stats().Bytes; b > int64(2*s.Len()) {
		t.Errorf("%d bytes take %d of memory", s.Len(), b)
	}
	r, err := gzip.NewReader(s.Reader())
	s.Free()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if !bytes.Equal(got, data) || err != nil {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

// TestWriterLeavesHeldBuffers: what somebody else holds does not change.
func TestWriterLeavesHeldBuffers(t *testing.T) {
	pool := newLending(t)
	var s mem.BufferSlice
	w := mem.NewWriter(&s, pool)
	w.Write([]byte("ab"))

	s[0].Ref()
	held := s[0]
	w.Write([]byte("cd"))
	wantBytes(t, "held", held, "ab")
	held.Free()

	part := s[1].Slice(0, 1)
	w.Write([]byte("ef"))
	wantBytes(t, "sliced", s[1], "cd")
	part.Free()

	left, right := mem.SplitUnsafe(s[2], 1)
	s[2] = left
	w.Write([]byte("gh"))
	wantBytes(t, "right half", right, "f")
	wantBytes(t, "left half", s[2], "e")
	right.Free()

	if got := string(s.Materialize()); got != "abcdegh" {
		t.Errorf("the Buffers hold %q", got)
	}
	s.Free()

	// The owner took everything away and put something else there.
	s = mem.BufferSlice{mem.SliceBuffer("new")}
	w.Write([]byte("er"))
	if got := string(s.Materialize()); got != "newer" {
		t.Errorf("the Buffers hold %q", got)
	}
	s.Free()
	s = nil
	w.Write([]byte("z"))
	if got := string(s.Materialize()); got != "z" {
		t.Errorf("the Buffers hold %q", got)
	}
	s.Free()
}

func BenchmarkWriter(b *testing.B) {
	pool := mem.DefaultBufferPool()
	piece := make([]byte, 240)
	b.ReportAllocs()
	for b.Loop() {
		var s mem.BufferSlice
		w := mem.NewWriter(&s, pool)
		for range 100 {
			w.Write(piece)
		}
		s.Free()
	}
}
