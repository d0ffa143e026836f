// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// lending is a pool whose loans a test asserts.
type lending struct {
	*internalmem.Tiered
}

// newLending returns a pool; the test fails if at its end something is still lent.
func newLending(t testing.TB) lending {
	p := lending{internalmem.NewTiered(16, 256, 512, 1024, 4096, 8192, 16<<10, 32<<10, 64<<10)}
	t.Cleanup(func() { p.want(t, 0) })
	return p
}

func (p lending) want(t testing.TB, n int64) {
	t.Helper()
	if got := p.Stats().Buffers; got != n {
		t.Errorf("%d buffers lent, want %d", got, n)
	}
}

// buffer returns a pooled Buffer with the given contents, however small.
func (p lending) buffer(data string) mem.Buffer {
	b := p.Get(len(data))
	copy(*b, data)
	return mem.NewBuffer(b, p)
}

func (p lending) slice(parts ...string) mem.BufferSlice {
	var s mem.BufferSlice
	for _, part := range parts {
		s = append(s, p.buffer(part))
	}
	return s
}

func randomBytes(n int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(n), 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

func wantBytes(t *testing.T, what string, b mem.Buffer, want string) {
	t.Helper()
	if got := string(b.ReadOnlyData()); got != want || b.Len() != len(want) {
		t.Errorf("%s: %q, length %d, want %q", what, got, b.Len(), want)
	}
}
