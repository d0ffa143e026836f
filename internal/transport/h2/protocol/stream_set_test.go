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
		if rng.IntN(20) == 0 {
			set.trim()
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

// TestStreamSetShrinks: a set does not keep the memory of the most streams that it has had.
func TestStreamSetShrinks(t *testing.T) {
	const most = 10_000
	set, streams := new(streamSet), make([]*Stream, most)
	for i := range streams {
		streams[i] = &Stream{id: uint32(2*i + 1)}
		set.add(streams[i])
	}
	for i, s := range streams[:most-1] {
		set.remove(s)
		if left := most - 1 - i; set.rest.most > max(64, 4*(left+1)) && i > most*3/4 {
			t.Fatalf("room for %d streams, of which %d are left", set.rest.most, left)
		}
	}
	set.trim()
	if last := streams[most-1]; set.len() != 1 || set.get(last.id) != last || set.rest.many != nil {
		t.Errorf("%d streams, in a map: %t", set.len(), set.rest.many != nil)
	}
}
