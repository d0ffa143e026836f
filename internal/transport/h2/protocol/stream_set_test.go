// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math/rand/v2"
	"testing"
)

// A streamSet is a map, whatever its size.
func TestStreamSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var none *streamSet
	if none.len() != 0 || none.get(1) != nil || none.remove(new(Stream)) {
		t.Error("nil is not empty")
	}
	for range none.all() {
		t.Error("nil has a stream")
	}
	set, want := new(streamSet), make(map[uint32]*Stream)
	for range 5000 {
		id := 1 + rng.Uint32N(3*maxFew)
		if s := want[id]; s != nil {
			if !set.remove(s) || set.remove(s) {
				t.Fatal("a stream was not there, or twice")
			}
			delete(want, id)
		} else {
			s := &Stream{id: id}
			set.add(s)
			want[id] = s
		}
		if rng.IntN(50) == 0 {
			for _, s := range want {
				set.remove(s)
			}
			clear(want)
		}
		if set.len() != len(want) || set.get(id) != want[id] {
			t.Fatalf("%d streams, want %d", set.len(), len(want))
		}
		if other := 1 + rng.Uint32N(3*maxFew); set.get(other) != want[other] {
			t.Fatalf("%p in place of %p", set.get(other), want[other])
		}
		n := 0
		for s := range set.all() {
			if n++; want[s.id] != s {
				t.Fatal("a stream that is not there")
			}
		}
		if n != len(want) {
			t.Fatalf("%d streams, want %d", n, len(want))
		}
	}
}
