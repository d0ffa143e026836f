// SPDX-License-Identifier: Apache-2.0

// Package load calls a server in a given manner and counts how that went.
package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
)

// Start begins a load and returns when it is warm.
func Start(ctx context.Context, targets Targets, args ops.Load) (*Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &Run{cancel: cancel}
	var steps []step
	if args.Every == 0 { // else a caller has no connection of its own
		steps = make([]step, args.Callers)
	}
	for i := range steps {
		s, err := newStep(ctx, targets, args, i)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("caller %d: %w", i, err)
		}
		steps[i] = s
	}
	if args.Beside > 0 {
		beside := args
		beside.Kind, beside.Size = ops.Pull, args.Beside
		s, err := newStep(ctx, targets, beside, 0)
		if err != nil {
			cancel()
			return nil, err
		}
		r.wg.Go(func() { r.uncounted(s) })
	}
	switch {
	case args.Every > 0:
		s, err := newSparse(ctx, targets, args)
		if err != nil {
			cancel()
			return nil, err
		}
		r.sparse(s)
	case args.Rate > 0:
		r.wg.Go(func() { r.paced(steps, args.Rate) })
	default:
		for _, s := range steps {
			r.wg.Go(func() { r.closed(s) })
		}
	}
	time.Sleep(args.Warmup)
	return r, nil
}

// Window measures for a time, then ends the load. It may be called once.
func (r *Run) Window(ctx context.Context, d time.Duration) (ops.Measured, error) {
	before := sample.Count(0)
	r.phase.Store(measuring)
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	r.phase.Store(ending)
	after := sample.Count(0)

	// Calls that are on their way may end by themselves; streams without an end must not.
	stop := time.AfterFunc(5*time.Second, r.cancel)
	defer stop.Stop()
	r.wg.Wait()
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.total.Summary()
	if r.err == nil && sum.Count == 0 {
		r.err = errors.New("nothing was answered in time")
	}
	return ops.Measured{
		Calls:   sum.Count,
		Took:    after.Wall.Sub(before.Wall),
		Latency: sum,
		Used:    after.Minus(before),
	}, r.err
}

// closed does one step behind the other.
func (r *Run) closed(s step) {
	var h hist.Histogram
	for r.phase.Load() < ending {
		start := time.Now()
		if err := s(); err != nil {
			r.fail(err)
			break
		}
		end := time.Now()
		if r.phase.Load() == measuring {
			h.Add(end.Sub(start))
		}
	}
	r.merge(&h)
}

// uncounted does one step behind the other for the sake of what else happens.
func (r *Run) uncounted(s step) {
	for r.phase.Load() < ending {
		if err := s(); err != nil {
			r.fail(err)
			return
		}
	}
}
