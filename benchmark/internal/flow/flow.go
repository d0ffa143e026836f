// SPDX-License-Identifier: Apache-2.0

// Package flow is a client's part in what is measured over a far path: streams whose messages are
// counted over time, calls with pauses, and many callers; with gRPC, or the same bytes
// without.
package flow

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/load"
	"google.golang.org/grpc/benchmark/internal/ops"
)

// Run makes the load.
func Run(ctx context.Context, targets load.Targets, args ops.Flow) (ops.Flowed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &flow{args: args, make: overGRPC(targets)}
	if len(targets.Clients) == 0 {
		f.make = overBytes(targets)
	}
	start := time.Now()
	flowed, err := f.run(ctx, cancel)
	flowed.Start = start.UnixNano()
	return flowed, err
}

// flow is a load that runs.
type flow struct {
	args  ops.Flow
	make  func(ctx context.Context, kind string, size, i int) (step, error) // what the i-th caller does
	count atomic.Uint64                                                     // messages that came
	ended atomic.Bool

	mu      sync.Mutex
	latency hist.Histogram
	err     error // the first
}

func (f *flow) run(ctx context.Context, cancel func()) (flowed ops.Flowed, err error) {
	if f.args.Calls > 0 {
		flowed.Took, err = f.calls(ctx)
		return flowed, err
	}
	var wg sync.WaitGroup
	if err := f.begin(ctx, &wg); err != nil {
		cancel()
		wg.Wait()
		return flowed, err
	}
	start := time.Now()
	flowed.Points = Track(ctx, f.args.For, f.count.Load)
	flowed.Lasted = time.Since(start)
	f.ended.Store(true)
	cancel()
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	flowed.Latency = f.latency.Summary()
	return flowed, f.err
}

// begin starts all that goes on at the same time.
func (f *flow) begin(ctx context.Context, wg *sync.WaitGroup) error {
	if f.args.Kind != ops.Unary {
		return f.stream(ctx, wg, f.args.Kind, f.args.Size)
	}
	first := 0
	if f.args.Beside > 0 {
		if err := f.stream(ctx, wg, ops.Pull, f.args.Beside); err != nil {
			return err
		}
		first = 1
	}
	for i := range f.args.Callers {
		call, err := f.make(ctx, ops.Unary, f.args.Size, first+i)
		if err != nil {
			return err
		}
		wg.Go(func() { f.caller(call) })
	}
	return nil
}

// stream sends or receives until the end.
func (f *flow) stream(ctx context.Context, wg *sync.WaitGroup, kind string, size int) error {
	next, err := f.make(ctx, kind, size, 0)
	if err != nil {
		return err
	}
	wg.Go(func() {
		for {
			if err := next(); err != nil {
				f.fail(err)
				return
			}
			f.count.Add(1)
		}
	})
	return nil
}

// caller calls until the end.
func (f *flow) caller(call step) {
	for !f.ended.Load() {
		start := time.Now()
		if err := call(); err != nil {
			f.fail(err)
			return
		}
		f.mu.Lock()
		f.latency.Add(time.Since(start))
		f.mu.Unlock()
	}
}

// fail notes what went wrong, but for what the end itself breaks.
func (f *flow) fail(err error) {
	if f.ended.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errors.Join(f.err, err)
}

// calls makes one call after the other.
func (f *flow) calls(ctx context.Context) (took []time.Duration, err error) {
	call, err := f.make(ctx, ops.Unary, f.args.Size, 0)
	if err != nil {
		return nil, err
	}
	for i := range f.args.Calls {
		if i > 0 {
			time.Sleep(f.args.Pause)
		}
		start := time.Now()
		if err := call(); err != nil {
			return took, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// tick is how often Track looks.
const tick = 25 * time.Millisecond

// Track looks again and again what count says.
func Track(ctx context.Context, d time.Duration, count func() uint64) []ops.Point {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	end := time.Now().Add(d)
	points := []ops.Point{{At: time.Now().UnixNano(), Count: count()}}
	for {
		select {
		case <-ctx.Done():
			return points
		case <-ticker.C:
		}
		now := time.Now()
		points = append(points, ops.Point{At: now.UnixNano(), Count: count()})
		if now.After(end) {
			return points
		}
	}
}
