// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
)

// sparse is a call on each connection now and then.
type sparse struct {
	steps   []step // one for each connection
	callers int
	every   time.Duration
	bursts  bool
}

func newSparse(ctx context.Context, targets Targets, args ops.Load) (*sparse, error) {
	s := &sparse{callers: args.Callers, every: args.Every, bursts: args.Bursts}
	switch {
	case args.Kind == ops.Unary && len(targets.Clients) > 0:
		for _, client := range targets.Clients {
			s.steps = append(s.steps, unaryStep(ctx, client, args.Size))
		}
	case args.Kind == ops.PingPong && len(targets.Raws) > 0:
		for i := range targets.Raws {
			step, err := rawStep(ctx, targets, args, i)
			if err != nil {
				return nil, err
			}
			s.steps = append(s.steps, inTurn(step))
		}
	case args.Kind == ops.Ping && len(targets.Raws) > 0:
		for _, conn := range targets.Raws {
			s.steps = append(s.steps, inTurn(pingStep(ctx, conn)))
		}
	default:
		return nil, errors.New("sparse traffic is of unary calls on channels, or of messages or pings without gRPC")
	}
	return s, nil
}

// inTurn is a step for several goroutines: one who is late may still be at it when it is due again.
func inTurn(do step) step {
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		return do()
	}
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

// sparse makes calls when they are due. Whoever makes one sleeps until then itself: to have
// it told by another goroutine would cost about as much as the call.
func (r *Run) sparse(s *sparse) {
	start := time.Now()
	var turns atomic.Int64
	for range s.callers {
		r.wg.Go(func() { r.take(s, start, &turns) })
	}
}

// take makes one call after the other, each when it is due. Its latency counts from then;
// where there was time to sleep, from the end of the sleep, which is some of a timer's
// milliseconds late.
func (r *Run) take(s *sparse, start time.Time, turns *atomic.Int64) {
	for {
		n := int(turns.Add(1) - 1)
		at, ok := r.sleepUntil(start.Add(s.due(n)))
		if !ok {
			return
		}
		if err := s.steps[n%len(s.steps)](); err != nil {
			r.fail(err)
			continue
		}
		if r.phase.Load() == measuring {
			r.add(time.Since(at))
		}
	}
}

// sleepUntil returns when it is the given time, or since when it is; false at the end of the load.
func (r *Run) sleepUntil(at time.Time) (time.Time, bool) {
	for r.phase.Load() < ending {
		wait := time.Until(at)
		if wait <= 0 {
			return at, true
		}
		time.Sleep(min(wait, longest))
		if wait <= longest {
			return time.Now(), r.phase.Load() < ending
		}
	}
	return at, false
}

// longest is how long the end of the load may go unnoticed. It is longer than most sleeps
// are, so that it costs no wake-ups.
const longest = 2 * time.Second
