// SPDX-License-Identifier: Apache-2.0

package leastrequest

import (
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
)

// server counts the RPCs of one endpoint.
type server struct {
	active atomic.Int64
	done   func(balancer.DoneInfo) // decrements active; made once, for all RPCs
}

func newServer() *server {
	s := &server{}
	s.done = func(balancer.DoneInfo) { s.active.Add(-1) }
	return s
}

// candidate is an endpoint that is ready.
type candidate struct {
	*server
	picker balancer.Picker
}

type picker struct {
	candidates []candidate // not empty
	choices    int
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	c := p.choose(rand.IntN)
	result, err := c.picker.Pick(info)
	if err != nil {
		return result, err
	}
	c.active.Add(1)
	if next := result.Done; next != nil {
		result.Done = func(info balancer.DoneInfo) {
			c.done(info)
			next(info)
		}
	} else {
		result.Done = c.done
	}
	return result, nil
}

// choose returns the best of choices candidates. random(n) returns a number in [0, n). The same
// candidate may be drawn more than once (gRFC A48).
func (p *picker) choose(random func(n int) int) candidate {
	best := p.candidates[random(len(p.candidates))]
	for range p.choices - 1 {
		c := p.candidates[random(len(p.candidates))]
		if c.active.Load() < best.active.Load() {
			best = c
		}
	}
	return best
}
