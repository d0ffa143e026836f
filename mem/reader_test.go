// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

func TestReaderAsIOReader(t *testing.T) {
	pool := newLending(t)
	want := randomBytes(3000)
	s := pool.slice(string(want[:1]), "", string(want[1:1000]), string(want[1000:1000]), string(want[1000:]), "")
	r := s.Reader()
	s.Free()
	if err := iotest.TestReader(r, want); err != nil {
		t.Error(err)
	}
}

func TestReaderFreesAsItGoes(t *testing.T) {
	pool := newLending(t)
	s := pool.slice("ab", "cd", "", "ef")
	r := s.Reader()
	s.Free()
	for _, step := range []struct {
		what string
		do   func()
		lent int64
		left int
	}{
		{"nothing", func() {}, 4, 6},
		{"within the first", func() { r.ReadByte() }, 4, 5},
		{"the end of the first", func() { r.ReadByte() }, 3, 4},
		{"beyond an empty one", func() { r.Read(make([]byte, 2)) }, 1, 2},
		{"the end", func() { r.Discard(2) }, 0, 0},
	} {
		step.do()
		pool.want(t, step.lent)
		if r.Remaining() != step.left {
			t.Errorf("%s: %d remain, want %d", step.what, r.Remaining(), step.left)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestReaderClose(t *testing.T) {
	pool := newLending(t)
	s := pool.slice("ab", "cd")
	r := s.Reader()
	s.Free()
	r.ReadByte()
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		pool.want(t, 0)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF || r.Remaining() != 0 {
		t.Errorf("after Close: %v, %d remain", err, r.Remaining())
	}
	s = pool.slice("ef")
	r.Reset(s)
	s.Free()
	if b, err := r.ReadByte(); b != 'e' || err != nil {
		t.Errorf("after Reset: %q, %v", b, err)
	}
	r.Close()
}

func TestReaderReset(t *testing.T) {
	pool := newLending(t)
	s := pool.slice("ab", "cd")
	r := s.Reader()
	r.Discard(3)
	r.Reset(s) // the same Buffers: one of them only the caller still holds
	s.Free()
	if got, err := io.ReadAll(r); string(got) != "abcd" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	var zero mem.Reader
	if _, err := zero.ReadByte(); err != io.EOF {
		t.Errorf("the zero Reader: %v", err)
	}
	zero.Reset(nil)
	zero.Close()
}

func TestReaderErrors(t *testing.T) {
	pool := newLending(t)
	for _, tt := range []struct {
		n, got int
		err    error
	}{{0, 0, nil}, {3, 3, nil}, {4, 3, errShort}, {-1, 0, errAny}} {
		s := pool.slice("ab", "c")
		r := s.Reader()
		s.Free()
		parts, err := r.Peek(tt.n, nil)
		peeked := tt.got
		if tt.err != nil {
			peeked = 0
		}
		if got := bytes.Join(parts, nil); len(got) != peeked || !sameError(err, tt.err) {
			t.Errorf("Peek(%d): %q, %v", tt.n, got, err)
		}
		n, err := r.Discard(tt.n)
		if n != tt.got || !sameError(err, tt.err) {
			t.Errorf("Discard(%d): %d, %v", tt.n, n, err)
		}
		r.Close()
	}
	var end mem.Reader
	if _, err := end.Peek(1, nil); !sameError(err, errShort) {
		t.Errorf("Peek at the end: %v", err)
	}
	if _, err := end.Discard(1); !sameError(err, errShort) {
		t.Errorf("Discard at the end: %v", err)
	}
}

var (
	errAny   = errors.New("any error but those of io")
	errShort = errors.New("insufficient bytes in reader") // by its text
)

func sameError(got, want error) bool {
	if want == errAny {
		return got != nil && got != io.EOF && got != io.ErrUnexpectedEOF
	}
	return got == want || got != nil && want != nil && got.Error() == want.Error()
}

func TestPeekKeepsWhatIsThere(t *testing.T) {
	pool := newLending(t)
	s := pool.slice("ab", "", "cd", "ef")
	r := s.Reader()
	s.Free()
	defer r.Close()
	r.ReadByte()
	parts, err := r.Peek(3, [][]byte{[]byte("x")})
	if got := string(bytes.Join(parts, []byte("|"))); got != "x|b|cd" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_ = append(parts[1], "XX"...)
	if r.Remaining() != 5 {
		t.Errorf("Peek moved the Reader: %d remain", r.Remaining())
	}
	pool.want(t, 4)
}

// FuzzReader does the same with a Reader over a BufferSlice, cut at arbitrary places, and
// with a bytes.Reader over the same bytes. Each byte of ops is one operation and its size.
func FuzzReader(f *testing.F) {
	f.Add([]byte("hello world"), []byte{3, 0, 5}, []byte{0x03, 0x41, 0x84, 0xc2, 0x3f})
	f.Add([]byte{}, []byte{0, 0}, []byte{0x00, 0x40, 0x80, 0xc0})
	f.Add(bytes.Repeat([]byte("abc"), 1000), []byte{255, 1, 0, 0, 99}, bytes.Repeat([]byte{0x3f, 0x44, 0x91, 0xe0}, 60))
	f.Fuzz(func(t *testing.T, data, cuts, ops []byte) {
		pool := newLending(t)
		s := cut(pool, data, cuts)
		r, oracle := s.Reader(), bytes.NewReader(data)
		s.Free()
		for i, op := range ops {
			n := int(op & 0x3f)
			switch op >> 6 {
			case 0:
				got, want := make([]byte, n), make([]byte, n)
				gn, gerr := r.Read(got)
				wn, werr := oracle.Read(want)
				if gn != wn || gerr != werr || !bytes.Equal(got, want) {
					t.Fatalf("op %d: Read(%d): %d, %v, want %d, %v", i, n, gn, gerr, wn, werr)
				}
			case 1:
				got, gerr := r.ReadByte()
				want, werr := oracle.ReadByte()
				if got != want || gerr != werr {
					t.Fatalf("op %d: ReadByte: %#x, %v, want %#x, %v", i, got, gerr, want, werr)
				}
			case 2:
				before := oracle.Len()
				want, _ := oracle.Seek(int64(min(n, before)), io.SeekCurrent)
				got, err := r.Discard(n)
				if got != min(n, before) || (err == nil) != (n <= before) || int(want) != len(data)-r.Remaining() {
					t.Fatalf("op %d: Discard(%d) of %d: %d, %v", i, n, before, got, err)
				}
			case 3:
				parts, err := r.Peek(n, nil)
				rest := data[len(data)-oracle.Len():]
				want := rest[:min(n, len(rest))]
				if n > len(rest) {
					want = nil
				}
				if !bytes.Equal(bytes.Join(parts, nil), want) || (err == nil) != (n <= len(rest)) {
					t.Fatalf("op %d: Peek(%d) of %d: %q, %v", i, n, len(rest), parts, err)
				}
			}
			if r.Remaining() != oracle.Len() {
				t.Fatalf("op %d: %d remain, want %d", i, r.Remaining(), oracle.Len())
			}
			if r.Remaining() == 0 {
				pool.want(t, 0)
			}
		}
		r.Close()
	})
}

// cut makes Buffers with the given lengths, and one of the rest.
func cut(pool lending, data, lengths []byte) mem.BufferSlice {
	var s mem.BufferSlice
	for _, l := range lengths {
		n := min(int(l), len(data))
		s = append(s, pool.buffer(string(data[:n])))
		data = data[n:]
	}
	return append(s, pool.buffer(string(data)))
}

func TestReaderAllocs(t *testing.T) {
	if internalmem.Checking {
		t.Skip("the race detector allocates")
	}
	pool := newLending(t)
	s := pool.slice("hello", "world")
	defer s.Free()
	var r mem.Reader
	dst, peeked := make([]byte, 4), make([][]byte, 0, 4)
	got := testing.AllocsPerRun(1000, func() {
		r.Reset(s)
		r.Read(dst)
		peeked, _ = r.Peek(3, peeked[:0])
		r.Discard(2)
		for _, err := r.ReadByte(); err == nil; _, err = r.ReadByte() {
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkReader(b *testing.B) {
	pool := mem.DefaultBufferPool()
	var s mem.BufferSlice
	for range 4 {
		s = append(s, mem.NewBuffer(pool.Get(16<<10), pool))
	}
	defer s.Free()
	dst := make([]byte, 4<<10)
	b.Run("Read", func(b *testing.B) {
		var r mem.Reader
		b.SetBytes(int64(s.Len()))
		b.ReportAllocs()
		for b.Loop() {
			r.Reset(s)
			for r.Remaining() > 0 {
				r.Read(dst)
			}
		}
	})
	b.Run("ReadByte", func(b *testing.B) {
		var r mem.Reader
		b.SetBytes(int64(s.Len()))
		for b.Loop() {
			r.Reset(s)
			for r.Remaining() > 0 {
				r.ReadByte()
			}
		}
	})
}
