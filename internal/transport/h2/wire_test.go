// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// slowWriter takes a part of what it is asked to try.
type slowWriter struct {
	readyreader.BaseLayer
	got []byte
}

func (w *slowWriter) Can() readyreader.Ability { return readyreader.TriesWrites }

func (w *slowWriter) Read([]byte) (int, error) { panic("read") }

func (w *slowWriter) Write(p []byte) (int, error) {
	w.got = append(w.got, p...)
	return len(p), nil
}

func (w *slowWriter) TryWrite(p []byte) (int, error) {
	if n := rand.IntN(3 * (len(p) + 1)); n < len(p) {
		w.got = append(w.got, p[:n]...)
		return n, readyreader.ErrWouldBlock
	}
	return w.Write(p)
}

type slowVector struct{ slowWriter }

func (w *slowVector) Can() readyreader.Ability {
	return readyreader.TriesWrites | readyreader.TakesVectors
}

func (w *slowVector) LeastPiece() int { return 1 }

func (w *slowVector) TryWriteVector(pieces [][]byte) (int, error) {
	return w.TryWrite(slices.Concat(pieces...))
}

func (w *slowVector) WriteVector(pieces [][]byte) (int, error) {
	return w.Write(slices.Concat(pieces...))
}

// parcelOf makes a parcel of p, of which parts are copied and parts are lent.
func parcelOf(p []byte, pool mem.BufferPool) (o protocol.Parcel) {
	for len(p) > 0 {
		n := 1 + rand.IntN(min(len(p), 4000))
		half := (n + 1) / 2 // what is lent is not the first of a parcel
		o.Copy(p[:half], pool)
		if half < n {
			o.Lend(p[half:n], mem.SliceBuffer(p[half:n]))
		}
		p = p[n:]
	}
	return o
}

// Whatever a writer can do, it gets a parcel once, and in order.
func TestWireWrites(t *testing.T) {
	pool := mem.DefaultBufferPool()
	for range 300 {
		var plain slowWriter
		var vector slowVector
		for try, got := range map[readyreader.Layer]*[]byte{&plain: &plain.got, &vector: &vector.got} {
			w := wire{readyreader.Socket{Layer: try}}
			want := make([]byte, rand.IntN(80_000))
			for i := range want {
				want[i] = byte(rand.Uint32())
			}
			o := parcelOf(want, pool)
			n, err := w.tryWrite(&o)
			if err != nil {
				err = w.write(&o, n)
			}
			if err != nil || !bytes.Equal(*got, want) {
				t.Fatalf("%T got %d bytes, %v, want %d", try, len(*got), err, len(want))
			}
			o.Free(pool)
		}
	}
}
