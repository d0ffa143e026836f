// SPDX-License-Identifier: Apache-2.0

package park

import (
	"time"

	"google.golang.org/grpc/internal/pulse"
	"google.golang.org/grpc/internal/warm"
)

const (
	// maxInline is how long a goroutine of the poller may read a connection, its handler included, and
	// for how long it goes on to other connections.
	maxInline = 500 * time.Microsecond
	// slowPenalty is how many events are handed to other goroutines after one that took longer than
	// maxInline.
	slowPenalty = 64
)

// onlyWaiter is the waiter of a backend that has only one.
type onlyWaiter struct{ backend }

func (onlyWaiter) promote() error { return nil }

// start starts a goroutine that waits for events.
func (p *poller) start() {
	all := []waiter{onlyWaiter{p.backend}}
	if p.multi != nil {
		all = p.multi.waiters()
	}
	f := &p.followers
	f.ready, f.free = make(chan waiter, len(all)), make(chan waiter, len(all))
	for _, w := range all[1:] {
		f.free <- w
	}
	p.serveOn(all[0])
}

// serveOn runs serve on a new goroutine.
func (p *poller) serveOn(w waiter) {
	if p.multi != nil {
		p.multi.hold()
	}
	warm.Fresh(func() {
		if p.multi != nil {
			defer p.multi.release()
		}
		p.serve(w)
	})
}

// serve waits for events at w. Before it reads connections itself it gives its waiter up, and afterwards it
// goes on at one that is free. It returns if none is free, if the poller ends, or if the goroutine has to end.
func (p *poller) serve(w waiter) {
	g := warm.Begin()
	var tokens [batch]uint64
	var throttle wakeThrottle
	for w != nil {
		n, err := w.wait(tokens[:p.atOnce()])
		if err != nil {
			p.fail(err)
			return
		}
		if p.multi != nil { // elsewhere nothing depends on it
			pulse.Event()
		}
		h := p.rouse(tokens[:n])
		if h != nil && p.promoteFollower() {
			p.followers.free <- w
			p.readOn(h, tokens[:], &throttle, &g)
			if g.Over() {
				return
			}
			w = p.followers.rejoin()
			continue
		}
		err = w.promote()
		if h != nil {
			throttle.wake(h.owner, n)
		}
		if err != nil {
			p.fail(err)
			return
		}
	}
}

// atOnce returns how many events to take: one where the goroutine that takes it goes on to the other events
// itself. It does not do that where programs' code must not run on it (see warm.Forbidden).
func (p *poller) atOnce() int {
	if p.multi != nil && !warm.Forbidden() && pulse.On() && p.followers.slowPenalty.Load() == 0 {
		return 1
	}
	return batch
}

// readOn reads h on this goroutine, which has no waiter, and then, one by one, the connections that have
// input by then. If that takes longer than maxInline, it wakes the owners of the others.
func (p *poller) readOn(h *Handle, tokens []uint64, throttle *wakeThrottle, g *warm.Goroutine) {
	start := time.Now()
	for before := start; ; {
		if h != nil {
			if h.owner.Run(); !g.Next() {
				return
			}
		}
		now := time.Now()
		switch {
		case now.Sub(before) > maxInline:
			p.followers.slowPenalty.Store(slowPenalty)
			return
		case !pulse.On():
			return
		case now.Sub(start) > maxInline:
			n := p.multi.now(tokens)
			if h = p.rouse(tokens[:n]); h != nil {
				throttle.wake(h.owner, n)
			}
			return
		}
		n := p.multi.now(tokens[:1])
		if n == 0 {
			return
		}
		pulse.Event()
		h, before = p.rouse(tokens[:n]), now
	}
}

// promoteFollower makes another goroutine the leader, if one is ready.
func (p *poller) promoteFollower() bool {
	f := &p.followers
	if warm.Forbidden() {
		return false
	}
	if f.slowPenalty.Load() > 0 {
		f.slowPenalty.Add(-1)
		return false
	}
	select {
	case next := <-f.ready:
		return next.promote() == nil // an error: the poller has ended
	default:
	}
	select {
	case next := <-f.free: // for the next time
		f.ready <- next
		p.serveOn(next)
	default:
	}
	return false
}

// rejoin returns a waiter for this goroutine, or nil if each waiter has a goroutine. It also makes the
// waiter ready.
func (f *followers) rejoin() waiter {
	select {
	case w := <-f.free:
		f.ready <- w
		return w
	default:
		return nil
	}
}
