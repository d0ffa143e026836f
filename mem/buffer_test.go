// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"sync"
	"testing"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// both runs a test with a counted Buffer and with a SliceBuffer.
func both(t *testing.T, data string, f func(t *testing.T, b mem.Buffer)) {
	t.Run("pooled", func(t *testing.T) { f(t, newLending(t).buffer(data)) })
	t.Run("slice", func(t *testing.T) { f(t, mem.SliceBuffer(data)) })
}

func TestBufferReturnsWithLastReference(t *testing.T) {
	pool := newLending(t)
	b := pool.buffer("hello")
	b.Ref()
	b.Free()
	pool.want(t, 1)
	wantBytes(t, "after one of two Frees", b, "hello")
	b.Free()
	pool.want(t, 0)
}

func TestNewBufferWithoutPool(t *testing.T) {
	data := []byte("hello")
	b := mem.NewBuffer(&data, nil)
	if _, ok := b.(mem.SliceBuffer); !ok {
		t.Errorf("got a %T", b)
	}
	wantBytes(t, "buffer", b, "hello")
	b.Free()
}

func TestCopy(t *testing.T) {
	pool := newLending(t)
	for _, n := range []int{0, 1, 1024, 1025, 100_000} {
		for _, p := range []mem.BufferPool{pool, nil} {
			data := randomBytes(n)
			want := string(data)
			b := mem.Copy(data, p)
			clear(data)
			wantBytes(t, "copy", b, want)
			lent := int64(0)
			if p != nil && n > 1024 {
				lent = 1
			}
			pool.want(t, lent)
			b.Free()
		}
	}
}

func TestBufferSliceMethod(t *testing.T) {
	for _, tt := range []struct{ start, end int }{{0, 5}, {1, 3}, {0, 0}, {5, 5}, {2, 2}, {4, 5}} {
		both(t, "hello", func(t *testing.T, b mem.Buffer) {
			s := b.Slice(tt.start, tt.end)
			b.Free() // the slice has its own reference
			wantBytes(t, "slice", s, "hello"[tt.start:tt.end])
			again := s.Slice(0, s.Len())
			s.Free()
			wantBytes(t, "slice of the slice", again, "hello"[tt.start:tt.end])
			again.Free()
		})
	}
	for _, tt := range []struct{ start, end int }{{-1, 2}, {3, 2}, {0, 6}, {6, 6}} {
		both(t, "hello", func(t *testing.T, b mem.Buffer) {
			wantPanic(t, "a bad range", func() { b.Slice(tt.start, tt.end) })
			b.Free()
		})
	}
}

// TestAppendDoesNotReachNeighbours: appending to what a Buffer shows must copy.
func TestAppendDoesNotReachNeighbours(t *testing.T) {
	both(t, "hello world", func(t *testing.T, b mem.Buffer) {
		s := b.Slice(0, 5)
		_ = append(s.ReadOnlyData(), "XXXX"...)
		left, right := mem.SplitUnsafe(s, 2)
		_ = append(left.ReadOnlyData(), "XXXX"...)
		wantBytes(t, "whole", b, "hello world")
		wantBytes(t, "right", right, "llo")
		left.Free()
		right.Free()
		b.Free()
	})
}

func TestSplitUnsafe(t *testing.T) {
	for n := range 6 {
		both(t, "hello", func(t *testing.T, b mem.Buffer) {
			left, right := mem.SplitUnsafe(b, n)
			wantBytes(t, "left", left, "hello"[:n])
			wantBytes(t, "right", right, "hello"[n:])
			left.Free()
			wantBytes(t, "right alone", right, "hello"[n:])
			right.Free()
		})
		both(t, "hello", func(t *testing.T, b mem.Buffer) {
			b.Ref() // somebody else's
			left, right := mem.SplitUnsafe(b, n)
			wantBytes(t, "the other holder's", b, "hello")
			b.Free()
			wantBytes(t, "right", right, "hello"[n:])
			right.Free()
			wantBytes(t, "left alone", left, "hello"[:n])
			left.Free()
		})
	}
	for _, n := range []int{-1, 6} {
		both(t, "hello", func(t *testing.T, b mem.Buffer) {
			wantPanic(t, "a bad position", func() { mem.SplitUnsafe(b, n) })
			b.Free()
		})
	}
}

func TestReadUnsafe(t *testing.T) {
	for size := range 8 {
		for _, shared := range []bool{false, true} {
			both(t, "hello", func(t *testing.T, b mem.Buffer) {
				if shared {
					b.Ref()
				}
				dst := make([]byte, size)
				n, rest := mem.ReadUnsafe(dst, b)
				if want := min(size, 5); n != want || string(dst[:n]) != "hello"[:want] {
					t.Errorf("read %q, %d bytes", dst[:n], n)
				}
				if shared {
					wantBytes(t, "the other holder's", b, "hello")
					b.Free()
				}
				if size >= 5 {
					if rest != nil {
						t.Errorf("a rest after everything: %q", rest.ReadOnlyData())
					}
					return
				}
				wantBytes(t, "rest", rest, "hello"[size:])
				rest.Free()
			})
		}
	}
}

func TestBufferMisusePanics(t *testing.T) {
	misuse := map[string]func(b mem.Buffer){
		"ReadOnlyData": func(b mem.Buffer) { b.ReadOnlyData() },
		"Len":          func(b mem.Buffer) { b.Len() },
		"Ref":          func(b mem.Buffer) { b.Ref() },
		"Free":         func(b mem.Buffer) { b.Free() },
		"Slice":        func(b mem.Buffer) { b.Slice(0, 1) },
		"SplitUnsafe":  func(b mem.Buffer) { mem.SplitUnsafe(b, 1) },
		"ReadUnsafe":   func(b mem.Buffer) { mem.ReadUnsafe(make([]byte, 1), b) },
	}
	for name, f := range misuse {
		t.Run(name, func(t *testing.T) {
			pool := newLending(t)
			whole := pool.buffer("hello")
			part := whole.Slice(1, 3)
			whole.Free()
			wantPanic(t, "on a Buffer of which a Slice lives", func() { f(whole) })
			wantBytes(t, "slice", part, "el")
			part.Free()
			wantPanic(t, "on a freed Slice", func() { f(part) })
			if internalmem.Checking {
				pool.buffer("other").Free()
				wantPanic(t, "after the memory was used again", func() { f(whole) })
			}
		})
	}
}

func TestSliceBufferSurvivesFree(t *testing.T) {
	b := mem.SliceBuffer("hello")
	b.Free()
	b.Ref()
	b.Free()
	b.Free()
	wantBytes(t, "buffer", b, "hello")
}

func TestBufferConcurrently(t *testing.T) {
	pool := newLending(t)
	want := string(randomBytes(5000))
	for range 50 {
		b := pool.buffer(want)
		var wg sync.WaitGroup
		for g := range 4 {
			b.Ref()
			wg.Go(func() {
				defer b.Free()
				for i := range 50 {
					start := 100*g + i
					s := b.Slice(start, start+1000)
					if string(s.ReadOnlyData()) != want[start:start+1000] {
						t.Error("a slice has other bytes")
					}
					left, right := mem.SplitUnsafe(s, 500)
					left.Free()
					if string(right.ReadOnlyData()) != want[start+500:start+1000] {
						t.Error("a split slice has other bytes")
					}
					right.Free()
				}
			})
		}
		b.Free()
		wg.Wait()
		pool.want(t, 0)
	}
}

func TestBufferAllocs(t *testing.T) {
	if internalmem.Checking {
		t.Skip("race builds don't reuse the objects")
	}
	pool := mem.DefaultBufferPool()
	got := testing.AllocsPerRun(1000, func() {
		b := mem.NewBuffer(pool.Get(2000), pool)
		s := b.Slice(10, 20)
		b.Ref()
		b.Free()
		b.Free()
		s.Free()
	})
	if got != 0 {
		t.Errorf("NewBuffer, Slice, Free: %v allocations", got)
	}
}

func BenchmarkNewBuffer(b *testing.B) {
	pool := mem.DefaultBufferPool()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mem.NewBuffer(pool.Get(2000), pool).Free()
		}
	})
}

func BenchmarkSlice(b *testing.B) {
	pool := mem.DefaultBufferPool()
	buf := mem.NewBuffer(pool.Get(2000), pool)
	defer buf.Free()
	b.ReportAllocs()
	for b.Loop() {
		buf.Slice(5, 100).Free()
	}
}
