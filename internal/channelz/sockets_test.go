// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSocketsArePaged holds pages against a sorted list while sockets come, out of order now and then, and go.
func TestSocketsArePaged(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var c sockets
	var want []int64
	next := int64(0)
	for round := range 3000 {
		switch {
		case len(want) > 0 && rnd.IntN(3) == 0 || len(want) > 300:
			i := rnd.IntN(len(want))
			if rnd.IntN(2) == 0 {
				i = 0 // those at the beginning, so that all that is gone lies together
			}
			s := c.byID[want[i]]
			c.remove(s)
			c.remove(s) // twice is once
			want = slices.Delete(want, i, i+1)
		default:
			next += 2
			id := next
			if rnd.IntN(5) == 0 && !slices.Contains(want, id-3) && id > 3 {
				id -= 3
			}
			c.add(&Socket{id: id})
			want = append(want, id)
			slices.Sort(want)
		}
		if c.len() != len(want) {
			t.Fatalf("round %d: %d sockets, want %d", round, c.len(), len(want))
		}
		if gone := len(c.order) - c.len(); gone > fewGone+c.len()/8 {
			t.Fatalf("round %d: %d of %d in the order are gone", round, gone, len(c.order))
		}
		p := Page{From: rnd.Int64N(next + 2), Limit: 1 + rnd.IntN(60)}
		from, _ := slices.BinarySearch(want, p.From)
		page := want[from:]
		end := min(len(page), p.Limit)
		list, last := c.page(p)
		got := make([]int64, len(list))
		for i, r := range list {
			got[i] = r.ID
		}
		if !slices.Equal(got, page[:end]) || last != (end == len(page)) {
			t.Fatalf("round %d, %+v: %v, last %t, of %v", round, p, got, last, want)
		}
	}
}

// TestPageCostsWhatIsOnIt: what a server with very many connections tells of itself, and a page of these, takes no
// look at all of them.
func TestPageCostsWhatIsOnIt(t *testing.T) {
	withOn(t)
	srv := NewNode(nil, Server, "")
	defer srv.Close()
	listener := NewSocket(srv, Listener, source{})
	defer listener.Close()
	measure := func() float64 {
		return testing.AllocsPerRun(10, func() {
			ServerSockets(srv.ID(), Page{From: 1})
			NodeByID(Server, srv.ID())
		})
	}
	few := measure()
	for range 5000 {
		s := NewSocket(srv, Connection, source{})
		defer s.Close()
	}
	if many := measure(); many > few+3 {
		t.Errorf("%.0f allocations with 5,000 sockets, %.0f with none", many, few)
	}
}
