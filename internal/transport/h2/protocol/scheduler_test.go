// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"testing"
)

// Each stream in the ring has its turn before one has another, whoever comes and goes.
func TestSchedulerTurns(t *testing.T) {
	var r scheduler
	streams := make([]*Stream, 4)
	for i := range streams {
		streams[i] = &Stream{id: uint32(i), pending: new(sendQueue)}
	}
	turns := func(n int) (ids []uint32) {
		for range n {
			ids = append(ids, r.head.id)
			r.rotate()
		}
		return ids
	}
	r.rotate() // of nobody
	for _, s := range streams[:3] {
		r.add(s)
		r.add(s) // it is in the ring
	}
	if got := turns(7); !slices.Equal(got, []uint32{0, 1, 2, 0, 1, 2, 0}) {
		t.Errorf("turns %v", got)
	}
	r.remove(streams[2])
	r.remove(streams[2]) // it is out of it
	r.add(streams[3])    // behind the one whose turn was last
	if got := turns(4); !slices.Equal(got, []uint32{1, 0, 3, 1}) {
		t.Errorf("turns %v", got)
	}
	r.remove(streams[0]) // whose turn it is
	if got := turns(3); !slices.Equal(got, []uint32{3, 1, 3}) {
		t.Errorf("turns %v", got)
	}
	r.remove(streams[1])
	r.remove(streams[3])
	if !r.empty() {
		t.Error("all have left, and the ring is not empty")
	}
}
