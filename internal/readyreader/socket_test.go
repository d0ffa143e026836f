// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"testing"

	"google.golang.org/grpc/mem"
)

// aLayer is a Layer that can do what can says, each way to read and to write with a mark of its own.
type aLayer struct {
	BaseLayer
	net.Conn
	can Ability
}

func (l *aLayer) Can() Ability { return l.can }

func (l *aLayer) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	return buf, copy(*buf, "layer"), nil
}

func (l *aLayer) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return l.ReadOnReady(size, pool)
}

func (l *aLayer) Read(p []byte) (int, error)           { return copy(p, "layer"), nil }
func (l *aLayer) Write([]byte) (int, error)            { return l.Conn.Write([]byte("layer")) }
func (l *aLayer) TryWrite(p []byte) (int, error)       { return l.Write(p) }
func (l *aLayer) WriteVector([][]byte) (int, error)    { return l.Write(nil) }
func (l *aLayer) TryWriteVector([][]byte) (int, error) { return l.Write(nil) }

// ownRead and ownWrite are wrappers around a Layer with one direction of their own.
type (
	ownRead  struct{ *aLayer }
	ownWrite struct{ *aLayer }
)

func (ownRead) Read(p []byte) (int, error) { return copy(p, "owner"), nil }

func (o ownWrite) Write(p []byte) (int, error) {
	_, err := o.Conn.Write([]byte("owner"))
	return len(p), err
}

// TestOwnDirection: a wrapper around a Layer that has a Read or a Write of its own is read or written in that, whatever
// else the Layer can do.
func TestOwnDirection(t *testing.T) {
	for _, can := range []Ability{
		ReadsReady, TriesReads, ReadsReady | TriesReads, TriesWrites, TakesVectors, TriesWrites | TakesVectors,
		ReadsReady | TakesVectors, TriesReads | TriesWrites, ReadsReady | TriesReads | TriesWrites | TakesVectors,
	} {
		a, b := connPair(t, "tcp")
		s := NewSocket(ownWrite{&aLayer{Conn: a, can: can}})
		if s.Can().HasAny(writeAbilities) || s.Can().Has(ReadsReady) != can.Has(ReadsReady) {
			t.Errorf("%b, its own Write: can %b", can, s.Can())
		}
		if _, err := s.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if p := make([]byte, 5); !fills(b, p) || string(p) != "owner" {
			t.Errorf("%b, its own Write: %q arrived", can, p)
		}

		s = NewSocket(ownRead{&aLayer{Conn: a, can: can}})
		if s.Can().Has(ReadsReady) || s.Can().Has(TriesWrites) != can.Has(TriesWrites) {
			t.Errorf("%b, its own Read: can %b", can, s.Can())
		}
		rd := New(s, Options{Pool: mem.DefaultBufferPool(), Size: 1 << 10, Pooled: true})
		if p, err := rd.Peek(5); string(p) != "owner" || err != nil {
			t.Errorf("%b, its own Read: read %q, %v", can, p, err)
		}
		rd.Release()
	}
}
