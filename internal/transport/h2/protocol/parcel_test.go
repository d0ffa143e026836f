// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
)

// fill fills o, and returns what is in it.
func fill(o *Parcel, pool mem.BufferPool) (want []byte) {
	for range rand.IntN(40) {
		n := 1 + rand.IntN(4000)
		p := pool.Get(n)
		for i := range *p {
			(*p)[i] = byte(rand.Uint32())
		}
		data := *p
		want = append(want, data...)
		if len(want) > n && rand.IntN(2) > 0 {
			from := rand.IntN(n)
			o.Copy(data[:from], pool)
			o.Lend(data[from:], mem.NewBuffer(p, pool))
			continue
		}
		o.Copy(data, pool)
		pool.Put(p)
	}
	return want
}

// That all is freed is for TestMain to find.
func TestParcel(t *testing.T) {
	pool := mem.DefaultBufferPool()
	for range 200 {
		var o Parcel
		want := fill(&o, pool)
		if o.Size() != len(want) || o.empty() != (len(want) == 0) || o.memory() < len(want) {
			t.Fatalf("size %d, memory %d, want %d", o.Size(), o.memory(), len(want))
		}
		if o.Whole() {
			if !bytes.Equal(o.Head(), want) {
				t.Fatal("it is something else")
			}
		} else {
			for _, off := range []int{0, 1, rand.IntN(len(want)), len(want)} {
				if got := slices.Concat(o.Vector(off)...); !bytes.Equal(got, want[off:]) {
					t.Fatalf("from %d of %d on it is something else", off, len(want))
				}
			}
		}
		o.Free(pool)
		if !o.empty() || o.Size() != 0 {
			t.Fatal("not empty")
		}
	}
}
