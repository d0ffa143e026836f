// SPDX-License-Identifier: Apache-2.0

package park

import (
	"context"
	"runtime/pprof"
	"time"

	"google.golang.org/grpc/internal/pulse"
)

const (
	// brief is how long a connection may be read, its handler included, by who was on watch, and
	// for how long it goes on to others.
	brief = 500 * time.Microsecond
	// shyness is how many times, after one that took longer, nobody does so.
	shyness = 64
)

// sole is the post of a backend that has one only.
type sole struct{ backend }

func (sole) arm() error { return nil }

// start has a goroutine wait for events.
func (p *poller) start() {
	posts := []post{sole{p.backend}}
	if p.manned != nil {
		posts = p.manned.posts()
	}
	p.relay.ready, p.relay.free = make(chan post, len(posts)), make(chan post, len(posts))
	for _, at := range posts[1:] {
		p.relay.free <- at
	}
	p.send(posts[0])
}

// send has a new goroutine wait at a post.
func (p *poller) send(at post) {
	if p.manned != nil {
		p.manned.hold()
	}
	go func() {
		if p.manned != nil {
			defer p.manned.release()
		}
		p.serve(at)
	}()
}

// serve waits for events as long as there is a post for it.
func (p *poller) serve(at post) {
	unlabel() // a new goroutine has those of the one that started it
	var tokens [batch]uint64
	var awake throng
	for at != nil {
		n, err := at.wait(tokens[:p.atOnce()])
		if err != nil {
			p.fail(err)
			return
		}
		pulse.Event()
		h := p.rouse(tokens[:n])
		if h != nil && p.relieved() {
			p.relay.free <- at
			p.readOn(h, tokens[:], &awake)
			at = p.relay.rejoin()
			continue
		}
		err = at.arm()
		if h != nil {
			awake.wake(h.owner, n)
		}
		if err != nil {
			p.fail(err)
			return
		}
	}
}

// atOnce is how many events to take: one where whoever takes it goes on to the others.
func (p *poller) atOnce() int {
	if p.manned != nil && pulse.On() && p.relay.shy.Load() == 0 {
		return 1
	}
	return batch
}

// readOn reads h on this goroutine, which has no post, and then, one by one, whoever else has
// input by then. Where that does not end soon those who are left are woken.
func (p *poller) readOn(h *Handle, tokens []uint64, awake *throng) {
	start := time.Now()
	for before := start; ; {
		if h != nil {
			h.owner.Run()
			unlabel()
		}
		now := time.Now()
		switch {
		case now.Sub(before) > brief:
			p.relay.shy.Store(shyness)
			return
		case !pulse.On():
			return
		case now.Sub(start) > brief:
			n := p.manned.now(tokens)
			if h = p.rouse(tokens[:n]); h != nil {
				awake.wake(h.owner, n)
			}
			return
		}
		n := p.manned.now(tokens[:1])
		if n == 0 {
			return
		}
		pulse.Event()
		h, before = p.rouse(tokens[:n]), now
	}
}

// relieved gives the watch to another goroutine, if one is ready.
func (p *poller) relieved() bool {
	r := &p.relay
	if r.shy.Load() > 0 {
		r.shy.Add(-1)
		return false
	}
	select {
	case next := <-r.ready:
		return next.arm() == nil // else the poller is at its end
	default:
	}
	select {
	case next := <-r.free: // for the next time
		r.ready <- next
		p.send(next)
	default:
	}
	return false
}

// rejoin returns a post to wait at, which is ready; nil if there are enough who do.
func (r *relay) rejoin() post {
	select {
	case at := <-r.free:
		r.ready <- at
		return at
	default:
		return nil
	}
}

// unlabel takes the profiler labels off the goroutine.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }
