// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"runtime"
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/ops"
)

// sparse is a call on each connection now and then.
type sparse struct {
	steps   []step // one for each connection
	callers int
	every   time.Duration
	bursts  bool
}

// turn is a call that is due on a connection.
type turn struct {
	at time.Time
	do step
}

func newSparse(ctx context.Context, targets Targets, args ops.Load) (*sparse, error) {
	if args.Kind != ops.Unary || len(targets.Clients) == 0 {
		return nil, errors.New("sparse traffic is of unary calls, on channels")
	}
	s := &sparse{callers: args.Callers, every: args.Every, bursts: args.Bursts}
	for _, client := range targets.Clients {
		s.steps = append(s.steps, unaryStep(ctx, client, args.Size))
	}
	return s, nil
}

// due is when the n-th call begins, after the first.
func (s *sparse) due(n int) time.Duration {
	round, in := n/len(s.steps), n%len(s.steps)
	d := time.Duration(round) * s.every
	if !s.bursts {
		d += time.Duration(in) * s.every / time.Duration(len(s.steps))
	}
	return d
}

// sparse begins calls when they are due, as paced does.
func (r *Run) sparse(s *sparse) {
	turns := make(chan turn, len(s.steps))
	for range s.callers {
		r.wg.Go(func() { r.take(turns) })
	}
	defer close(turns)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for n := 0; r.phase.Load() < ending; {
		next := start.Add(s.due(n))
		if wait := time.Until(next); wait > 0 {
			sleep(min(max(wait, tick), longest))
			continue
		}
		turns <- turn{next, s.steps[n%len(s.steps)]}
		n++
	}
}

// longest is how long the end of the load may go unnoticed.
const longest = 10 * time.Millisecond

// take makes calls that are due.
func (r *Run) take(turns <-chan turn) {
	var h hist.Histogram
	defer func() { r.merge(&h) }()
	for t := range turns {
		if r.phase.Load() == ending {
			continue
		}
		if err := t.do(); err != nil {
			r.fail(err)
			continue
		}
		if r.phase.Load() == measuring {
			h.Add(time.Since(t.at))
		}
	}
}
