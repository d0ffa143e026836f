// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
)

// random fills an outbuf, and returns what is in it.
func (o *outbuf) random(pool mem.BufferPool) (want []byte) {
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
			o.copy(data[:from], pool)
			o.lend(data[from:], mem.NewBuffer(p, pool))
			continue
		}
		o.copy(data, pool)
		pool.Put(p)
	}
	return want
}

// That all is freed is for TestMain to find.
func TestOutbuf(t *testing.T) {
	pool := mem.DefaultBufferPool()
	for range 200 {
		var o outbuf
		want := o.random(pool)
		if o.size() != len(want) || o.empty() != (len(want) == 0) || o.memory() < len(want) {
			t.Fatalf("size %d, memory %d, want %d", o.size(), o.memory(), len(want))
		}
		if o.whole() {
			if !bytes.Equal(o.head(), want) {
				t.Fatal("it is something else")
			}
		} else {
			for _, off := range []int{0, 1, rand.IntN(len(want)), len(want)} {
				if got := slices.Concat(o.vector(off)...); !bytes.Equal(got, want[off:]) {
					t.Fatalf("from %d of %d on it is something else", off, len(want))
				}
			}
		}
		o.free(pool)
		if !o.empty() || o.size() != 0 {
			t.Fatal("not empty")
		}
	}
}
