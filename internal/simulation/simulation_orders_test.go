// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/orders"
)

var ordersFor = flag.Duration("orders-for", time.Second, "how long TestOrders goes on with each scene")

// scene is a small history, of which each order is gone through: of the first choices after the
// handshake.
type scene struct {
	name   string
	swarm  swarm
	faults int
	calls  []call
}

var scenes = []scene{
	{name: "a unary call", calls: []call{{unary: true, up: []int{8}, down: []int{8}, stopsAfter: -1, readsAll: true}}},
	{name: "messages to and fro", calls: []call{{up: []int{8, 8, 8}, down: []int{8, 8, 8}, readsFirst: 1, stopsAfter: -1, readsAll: true}}},
	{name: "two calls", calls: []call{
		{unary: true, up: []int{8}, down: []int{8}, stopsAfter: -1, readsAll: true},
		{unary: true, up: []int{8}, down: []int{8}, stopsAfter: -1, readsAll: true},
	}},
	{name: "a cancellation", swarm: 1 << cancels, faults: 1, calls: []call{{up: []int{8, 8}, down: []int{8}, stopsAfter: -1, readsAll: true}}},
	{name: "a leave", swarm: 1 << drains, faults: 1, calls: []call{{unary: true, up: []int{8}, down: []int{8}, stopsAfter: -1, readsAll: true}}},
	{name: "a close", swarm: 1 << closes, faults: 1, calls: []call{{unary: true, up: []int{8}, down: []int{8}, stopsAfter: -1, readsAll: true}}},
	{name: "events in vain", swarm: 1<<vainEvents | 1<<doubleEvents, faults: 2, calls: []call{{up: []int{8}, down: []int{8, 8}, stopsAfter: -1, readsAll: true}}},
	{name: "a small socket", swarm: 1 << smallRoom, calls: []call{{unary: true, up: []int{1200}, down: []int{1200}, stopsAfter: -1, readsAll: true}}},
}

func (s *scene) begin(w *world) {
	w.prepare(s.swarm)
	for i := range s.calls {
		k := s.calls[i]
		k.w, k.n, k.link = w, len(w.calls), w.links[0]
		w.add(&k)
	}
	w.faults = s.faults
	// The handshake goes its simplest way.
	w.runUntil(func() bool { return w.links[0].connected })
}

// TestOrders goes through the orders of each scene, the first choices of which all are made in every
// way, as many as there is time for: first one, then two, and so on.
func TestOrders(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, s := range scenes {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			begin, all, deep := time.Now(), 0, 0
			for depth := 2; time.Since(begin) < *ordersFor && depth < 40; depth++ {
				done := true
				all += orders.Each(func(o *orders.Choices) bool {
					var points coverage
					w := &world{c: scripted(nil), points: &points}
					w.begin = func(w *world) {
						s.begin(w)
						w.c.each, w.c.left = o, depth
					}
					r := play(t, w)
					if r.failure != "" {
						t.Errorf("%s, after %v", r.failure, o.Made())
					}
					done = time.Since(begin) < *ordersFor
					return r.failure == "" && done
				})
				if t.Failed() {
					return
				}
				if done {
					deep = depth
				}
			}
			t.Logf("%d orders; all of the first %d choices", all, deep)
		})
	}
}
