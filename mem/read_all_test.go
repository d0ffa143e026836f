// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"google.golang.org/grpc/mem"
)

// only hides everything but Read.
type only struct{ io.Reader }

func TestReadAll(t *testing.T) {
	pool := newLending(t)
	wrappers := map[string]func(io.Reader) io.Reader{
		"plain":        func(r io.Reader) io.Reader { return only{r} },
		"WriterTo":     func(r io.Reader) io.Reader { return r },
		"one byte":     iotest.OneByteReader,
		"half":         iotest.HalfReader,
		"data and EOF": iotest.DataErrReader,
	}
	for name, wrap := range wrappers {
		for _, n := range []int{0, 1, 1024, 4095, 4096, 4097, 8192, 300_000} {
			for _, p := range []mem.BufferPool{pool, nil} {
				want := randomBytes(n)
				s, err := mem.ReadAll(wrap(bytes.NewReader(want)), p)
				if err != nil || !bytes.Equal(s.Materialize(), want) {
					t.Errorf("%s, %d bytes: %d, %v", name, n, s.Len(), err)
				}
				if held := pool.Stats().Bytes; held > int64(3*n+512) {
					t.Errorf("%s: %d bytes take %d of memory", name, n, held)
				}
				s.Free()
				pool.want(t, 0)
			}
		}
	}
}

func TestReadAllErrors(t *testing.T) {
	errBroken := errors.New("broken")
	tests := map[string]struct {
		r    io.Reader
		want error // nil: any
	}{
		"at once":    {iotest.ErrReader(errBroken), errBroken},
		"later":      {io.MultiReader(bytes.NewReader(randomBytes(10_000)), iotest.ErrReader(errBroken)), errBroken},
		"no end":     {stubborn{0}, io.ErrNoProgress},
		"negative":   {stubborn{-1}, nil},
		"impossible": {stubborn{1 << 30}, nil},
	}
	for name, tt := range tests {
		pool := newLending(t)
		s, err := mem.ReadAll(tt.r, pool)
		if err == nil || tt.want != nil && err != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if name == "later" && !bytes.Equal(s.Materialize(), randomBytes(10_000)) {
			t.Errorf("%d bytes from before the error", s.Len())
		}
		s.Free()
	}
}

// stubborn says that it read n bytes.
type stubborn struct{ n int }

func (s stubborn) Read([]byte) (int, error) { return s.n, nil }

func TestReadAllPanic(t *testing.T) {
	pool := newLending(t)
	wantPanic(t, "a reader that panics", func() { mem.ReadAll(iotest.ErrReader(nil), panics{pool}) })
	wantPanic(t, "a reader that panics", func() { mem.ReadAll(panics{}, pool) })
}

// panics is a Reader that panics, and a pool which does.
type panics struct{ mem.BufferPool }

func (panics) Read([]byte) (int, error) { panic("reader") }

func (panics) Get(int) *[]byte { panic("pool") }
