// SPDX-License-Identifier: Apache-2.0

package park

import (
	"context"
	"runtime/pprof"
	"time"

	"google.golang.org/grpc/internal/pulse"
)

const (
	// brief is how long a connection may be read, its handler included, by who was on watch.
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
	if b, ok := p.backend.(manned); ok {
		posts = b.posts()
	}
	p.relay.ready, p.relay.free = make(chan post, len(posts)), make(chan post, len(posts))
	for _, at := range posts[1:] {
		p.relay.free <- at
	}
	p.send(posts[0])
}

// send has a new goroutine wait at a post.
func (p *poller) send(at post) {
	b, ok := p.backend.(manned)
	if ok {
		b.hold()
	}
	go func() {
		if ok {
			defer b.release()
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
		n, err := at.wait(tokens[:])
		if err != nil {
			p.fail(err)
			return
		}
		pulse.Event()
		h := p.rouse(tokens[:n])
		if h != nil && p.relieved() {
			p.relay.free <- at
			p.relay.run(h.owner)
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

// run lets o read on this goroutine, which has no post.
func (r *relay) run(o Owner) {
	start := time.Now()
	o.Run()
	if time.Since(start) > brief {
		r.shy.Store(shyness)
	}
	unlabel()
}

// unlabel takes the profiler labels off the goroutine.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }
