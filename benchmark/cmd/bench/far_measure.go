// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/stat"
	"google.golang.org/grpc/benchmark/internal/workers"
	"google.golang.org/grpc/internal/farpath"
)

// farMeasured is one measurement over a path.
type farMeasured struct {
	Rates  []moment `json:",omitempty"` // of streams
	Steady float64  `json:",omitempty"` // bytes a second
	// Connect is how long it took until the connection stood, First how long the first call
	// took then, and Warm what the later of the others took.
	Connect, First, Warm time.Duration
	CallsASecond         float64       `json:",omitempty"`
	P50, P99             time.Duration // of many callers
	Dropped              uint64        // segments, by loss or a full queue
}

// worth is what the row is about: more is better.
func (m farMeasured) worth() float64 {
	switch {
	case m.CallsASecond > 0:
		return m.CallsASecond
	case m.Warm > 0:
		return 1 / m.Warm.Seconds()
	default:
		return m.Steady
	}
}

// measureFar does one measurement, over a path of its own and in two fresh processes: the
// system remembers what it learnt of a path.
func measureFar(ctx context.Context, c cell, r farRow, impl farImpl, o farOptions) (m farMeasured, err error) {
	f := r.over(c, o.calls, o.lasts(c))
	limit := f.For + time.Duration(f.Calls)*(pause+100*c.RoundTrip) + grace
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("it hangs"))
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s of %s over %v: %w", r.name, impl.name, c, errors.Join(err, context.Cause(ctx)))
		}
	}()
	path, err := farpath.New(c.shape(), c.Congestion)
	if err != nil {
		return m, err
	}
	defer path.Close()
	order := ops.Serve{Link: linkOf(c.Over), Host: path.Far().Addr().String()}
	order.Protocol = impl.protocol
	pair, err := workers.StartPairAt(ctx, impl.Impl, order, workers.Starts{Server: path.Far().Start, Client: path.Near().Start})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	conns := 1
	if impl.protocol == ops.Raw {
		conns = max(f.Callers, 1)
		if f.Beside > 0 {
			conns++
		}
	}
	opened, err := pair.Open(ops.Open{Connections: conns, Connect: true}, nil)
	if err != nil {
		return m, err
	}
	m, err = runFlow(pair, f, c)
	m.Connect = opened.Took
	there, back := path.Counts()
	m.Dropped = there.Lost + there.Full + back.Lost + back.Full
	return m, err
}

// runFlow runs a flow, and tells how it went.
func runFlow(pair *workers.Pair, f ops.Flow, c cell) (m farMeasured, err error) {
	tracked := make(chan []ops.Point, 1)
	if f.Kind == ops.Push {
		go func() {
			t, _ := control.Call[ops.Tracked](pair.Server, ops.OpTrack, ops.Track{For: f.For}, nil)
			tracked <- t.Points // none if the server is gone, which the client notices
		}()
	}
	flowed, err := control.Call[ops.Flowed](pair.Client, ops.OpFlow, f, nil)
	if f.Kind == ops.Push {
		flowed.Points = <-tracked
	}
	if err != nil {
		return m, err
	}
	if overTime(f) {
		message := max(f.Beside, f.Size)
		m.Rates = ratesOver(flowed.Points, flowed.Start, message, c.window())
		m.Steady = steady(m.Rates)
	}
	if f.Callers > 0 {
		m.CallsASecond = float64(flowed.Latency.Count) / flowed.Lasted.Seconds()
		m.P50, m.P99 = flowed.Latency.P50, flowed.Latency.P99
	}
	if len(flowed.Took) > 0 {
		m.First, m.Warm = flowed.Took[0], later(flowed.Took)
	}
	return m, nil
}

// later is the median of the second half.
func later(took []time.Duration) time.Duration {
	var all []float64
	for _, d := range took[len(took)/2:] {
		all = append(all, float64(d))
	}
	return time.Duration(stat.Median(all))
}

// farImpl is an implementation, or what carries the same bytes without one.
type farImpl struct {
	workers.Impl
	name, protocol string
}

// farImpls puts what is without gRPC first.
func farImpls(impls []workers.Impl) []farImpl {
	all := []farImpl{{Impl: impls[len(impls)-1], name: "raw", protocol: ops.Raw}}
	for _, impl := range impls {
		all = append(all, farImpl{Impl: impl, name: impl.Name, protocol: ops.GRPC})
	}
	return slices.Clip(all)
}
