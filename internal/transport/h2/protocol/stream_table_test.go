// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

// woken is a Waiter that remembers that it was woken.
type woken bool

func (w *woken) Wake() { *w = true }

// TestAbandonIsConstant: calls that wait for a place are given up in any order, at a cost that does
// not depend on how many wait: a server that allows no stream makes them wait, and they end together.
func TestAbandonIsConstant(t *testing.T) {
	const n = 100_000
	start := testutils.CPUTime()
	for _, newestFirst := range []bool{false, true} {
		table := newStreamTable(Client)
		table.setMaxLocal(0)
		waiters := make([]*PlaceWaiter, n)
		for i := range waiters {
			waiters[i] = table.wait(new(woken))
		}
		if newestFirst {
			slices.Reverse(waiters)
		}
		for _, w := range waiters {
			table.abandon(w)
		}
		if table.waiting != nil || table.granted != 0 {
			t.Errorf("some still wait; %d places are granted", table.granted)
		}
	}
	if took := testutils.CPUTime() - start; took > 8*time.Second {
		t.Errorf("%d waits took %v", 2*n, took)
	}
}

// TestAbandonKeepsOrder: who waits longest is woken first, whoever leaves.
func TestAbandonKeepsOrder(t *testing.T) {
	for leaver := range 5 {
		table := newStreamTable(Client)
		table.setMaxLocal(0)
		var waiters []*PlaceWaiter
		for range 5 {
			waiters = append(waiters, table.wait(new(woken)))
		}
		table.abandon(waiters[leaver])
		waiters = slices.Delete(waiters, leaver, leaver+1)
		waiters = append(waiters, table.wait(new(woken)))
		for i := range waiters {
			table.wakeNext()
			for k, w := range waiters {
				if woken := bool(*w.waiter.(*woken)); woken != (k <= i) {
					t.Errorf("%d left: waiter %d woken %t after %d", leaver, k, woken, i+1)
				}
			}
		}
		if table.waiting != nil {
			t.Errorf("%d left: some still wait", leaver)
		}
	}
}

// TestOurs: a GOAWAY loses the streams above the one that it names, each of them once.
func TestOurs(t *testing.T) {
	for _, tt := range []struct {
		low, high uint32
		want      []uint32
	}{
		{0, 0, nil},
		{0, 9, []uint32{1, 3, 5, 9}},
		{3, 9, []uint32{5, 9}},
		{4, 6, []uint32{5}},
		{5, 9, []uint32{9}},
		{9, 9, nil},
		{11, 9, nil},
		{3, 1<<31 - 1, []uint32{5, 9}},
		{1<<31 - 1, 9, nil},
	} {
		table := newStreamTable(Client)
		for _, id := range []uint32{1, 3, 5, 9} {
			table.insert(&Stream{id: id})
		}
		var got []uint32
		for _, s := range table.ours(tt.low, tt.high) {
			got = append(got, s.id)
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("above %d, at most %d: %d, want %d", tt.low, tt.high, got, tt.want)
		}
	}
}

// TestOursIsLinear: a server that names one stream less in each GOAWAY has a client look at each
// stream a few times, and a client that says GOAWAY has a server look at none.
func TestOursIsLinear(t *testing.T) {
	const n = 50_000
	start := testutils.CPUTime()
	table := newStreamTable(Client)
	for i := range uint32(n) {
		table.insert(&Stream{id: 2*i + 1})
	}
	for high := uint32(2 * n); high > 1; high -= 2 {
		list := table.ours(high-2, high)
		if len(list) != 1 {
			t.Fatalf("%d streams are lost at %d", len(list), high)
		}
		table.remove(list[0])
	}
	server := newStreamTable(Server)
	for i := range uint32(n) {
		server.insert(&Stream{id: 2*i + 1})
	}
	for range n {
		if server.ours(0, 1<<31-1) != nil {
			t.Fatal("a server's streams are the client's")
		}
	}
	if took := testutils.CPUTime() - start; took > 8*time.Second {
		t.Errorf("%d streams took %v", n, took)
	}
}

// A place that was promised to a call which gives up goes to the next one.
func TestPlacePassedOn(t *testing.T) {
	tb := newStreamTable(Client)
	tb.maxLocal = 1
	s := &Stream{id: tb.takeID()}
	tb.insert(s)
	var first, second woken
	a := tb.wait(&first)
	tb.wait(&second)
	tb.remove(s)
	if !bool(first) || bool(second) || tb.canOpen() {
		t.Fatal("the first is not served first")
	}
	tb.abandon(a)
	if !second {
		t.Fatal("the place is lost")
	}
	tb.maxLocal = 0
	if tb.claim() {
		t.Fatal("a place above the limit")
	}
}
