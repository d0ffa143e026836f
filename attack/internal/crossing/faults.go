// SPDX-License-Identifier: Apache-2.0

package crossing

import (
	"time"

	"google.golang.org/grpc/attack/internal/side"
)

// fault has one of the faults happen that the history has.
func (w *world) fault() {
	kinds := []struct {
		chaos chaos
		f     func()
	}{
		{stalls, w.stall},
		{stalls, w.goOn},
		{cuts, w.cut},
		{cancels, w.cancel},
		{cancels, w.cancel},
		{passes, func() { w.pass(time.Duration(w.pick(4000)) * time.Millisecond) }},
		{passes, func() { w.pass(time.Duration(w.pick(20000)) * time.Microsecond) }},
		{stops, func() { w.stop(side.Stop) }},
		{drains, func() { w.stop(side.Drain) }},
	}
	if k := kinds[w.pick(len(kinds))]; w.has(k.chaos) {
		k.f()
	}
}

func (w *world) stall() {
	if c := w.live(); c != nil {
		w.reach(Stalls)
		c.ends[w.pick(2)].stalled = true
	}
}

func (w *world) goOn() {
	for _, c := range w.conns {
		c.ends[0].stalled, c.ends[1].stalled = false, false
	}
}

// cut breaks a connection. What is on its way is lost, or some of it.
func (w *world) cut() {
	c := w.live()
	if c == nil {
		return
	}
	w.reach(Cuts)
	w.disturb(c)
	for r := range c.ends {
		e := &c.ends[r]
		e.reset = true
		if n := len(e.flight); n > 0 {
			e.flight = e.flight[:w.pick(n+1)]
		}
	}
}

func (w *world) cancel() {
	var list []*call
	for _, k := range w.calls {
		if k.started && !k.over && !k.cancelled {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return
	}
	k := list[w.pick(len(list))]
	k.cancelled = true
	w.reach(Cancels)
	w.order(side.Client, side.Message{Op: side.Cancel, Call: k.n})
	if !w.rarely(3) { // else with what comes next
		w.run(side.Client)
	}
}

// stop has the server stop or drain; another comes at once, or at the end.
func (w *world) stop(how side.Op) {
	if !w.serve {
		if w.stops == 0 {
			w.serveAgain()
		}
		return
	}
	w.serve = false
	w.stops++
	w.disturbed++
	w.reach(Stops)
	for _, c := range w.conns {
		c.drained = true
		if how == side.Stop {
			c.disturbed = true
		}
	}
	w.order(side.Server, side.Message{Op: how})
	w.run(side.Server)
}

func (w *world) serveAgain() {
	w.serve = true
	w.order(side.Server, side.Message{Op: side.Serve})
	w.run(side.Server)
}
