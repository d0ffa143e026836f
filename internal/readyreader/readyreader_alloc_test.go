// SPDX-License-Identifier: Apache-2.0

//go:build !race

package readyreader

import (
	"bytes"
	"testing"
)

// A read and a write on the descriptor, and parsing in place, allocate nothing.
func TestNoAllocations(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		pool := newTestPool(t)
		b := New(NewSocket(self), Options{Pool: pool, Size: 4096, Pooled: true})
		r := rawReaderFor(t, self)
		w := NewSocket(peer)
		msg := bytes.Repeat([]byte("m"), 100)
		send := func(p []byte) {
			if _, err := w.TryWrite(p); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			name string
			f    func()
		}{
			{"ReadOnReady", func() {
				send(msg)
				buf, _, err := r.ReadOnReady(4096, pool)
				if err != nil {
					t.Fatal(err)
				}
				pool.Put(buf)
			}},
			{"Peek", func() {
				send(msg)
				b.Peek(9)
				b.Discard(9)
				b.Peek(91)
				b.Discard(91)
			}},
			{"Peek, split", func() {
				send(msg[:5])
				b.Peek(5)
				send(msg[:95])
				b.Peek(9)
				b.Discard(100)
			}},
			{"TryPeek", func() {
				send(msg[:5])
				b.Peek(5)
				b.TryPeek(9)
				b.Discard(5)
				b.TryPeek(1)
			}},
		} {
			if n := testing.AllocsPerRun(100, tt.f); n != 0 {
				t.Errorf("%s: %v allocations", tt.name, n)
			}
		}
	})
}
