// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/ownheap"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// timing says how long a measurement takes, and how often its processes collect.
type timing struct {
	warmup, window time.Duration
	gogc           string // of both sides; "": as it is in this process's environment
	heap           uint   // that both sides have of their own, in MiB
}

// profiling names the folders that profiles go to; an empty one makes none.
type profiling struct{ cpu, allocs string }

// grace is how much longer than planned a measurement may take before it counts as hung.
const grace = 30 * time.Second

// warmRounds is how many round trips a slow line gets until its windows have grown.
const warmRounds = 20

// measure does one measurement in two fresh processes.
func measure(ctx context.Context, r row, impl workers.Impl, t timing, prof profiling) (m measured, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.warmup+t.window+grace, errors.New("it hangs"))
	defer cancel()
	if prof.allocs != "" {
		impl = impl.WithEnv("GODEBUG=memprofilerate=4096")
	}
	if t.gogc != "" {
		impl = impl.WithEnv("GOGC=" + t.gogc)
	}
	if t.heap > 0 {
		impl = impl.WithEnv(fmt.Sprintf("%s=%d", ownheap.Variable, t.heap))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s of %s: %w", r.name, impl.Name, errors.Join(err, context.Cause(ctx)))
		}
	}()
	pair, err := workers.StartPair(ctx, impl, ops.Serve{Link: r.link, Delay: r.delay})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	open := ops.Open{Connections: r.conns, Calls: 1, MessageSize: min(r.load.Size, 1<<10)}
	if _, err := pair.Open(open, nil); err != nil {
		return m, err
	}
	load := r.load
	load.Warmup = t.warmup + warmRounds*2*r.delay
	if _, err := control.Call[ops.Nothing](pair.Client, ops.OpLoad, load, nil); err != nil {
		return m, err
	}
	return window(pair, r, impl, t, prof)
}

// window measures a load that is warm.
func window(pair *workers.Pair, r row, impl workers.Impl, t timing, prof profiling) (measured, error) {
	if err := profile(pair, ops.OpProfile, r, impl, prof); err != nil {
		return measured{}, err
	}
	before, err := control.Call[sample.Counters](pair.Server, ops.OpCounters, ops.Nothing{}, nil)
	if err != nil {
		return measured{}, err
	}
	client, err := control.Call[ops.Measured](pair.Client, ops.OpWindow, ops.Window{Duration: t.window}, nil)
	if err != nil {
		return measured{}, err
	}
	after, err := control.Call[sample.Counters](pair.Server, ops.OpCounters, ops.Nothing{}, nil)
	if err != nil {
		return measured{}, err
	}
	// The load goes on: this is what it takes with its garbage.
	serverMemory, clientMemory, err := workers.Both[sample.Memory](pair, ops.OpResident, ops.Nothing{})
	if err != nil {
		return measured{}, err
	}
	if err := profile(pair, ops.OpFinish, r, impl, prof); err != nil {
		return measured{}, err
	}
	m := together(client, after.Minus(before), after.Wall.Sub(before.Wall))
	m.Client.RSS, m.Server.RSS = clientMemory.RSS, serverMemory.RSS
	return m, nil
}

// together joins both sides. The server's interval is a little longer than the client's,
// so that each side is divided by what it did itself. A server that collects nothing need not
// say how long it took.
func together(client ops.Measured, server sample.Counters, serverTook time.Duration) measured {
	served := server.Served
	if served == 0 { // it does not count what the client has it do
		served = client.Calls
	}
	collections := float64(client.Used.Collections) / client.Took.Seconds()
	if serverTook > 0 {
		collections += float64(server.Collections) / serverTook.Seconds()
	}
	return measured{
		Rate:        float64(client.Calls) / client.Took.Seconds(),
		Client:      costOf(client.Used, float64(client.Calls)),
		Server:      costOf(server, float64(max(served, 1))),
		Collections: collections,
		Latency:     client.Latency,
		Calls:       client.Calls,
	}
}

// profile begins or ends the profiles of both sides.
func profile(pair *workers.Pair, op string, r row, impl workers.Impl, prof profiling) error {
	if prof == (profiling{}) {
		return nil
	}
	for side, process := range map[string]*control.Process{"server": pair.Server, "client": pair.Client} {
		name := fmt.Sprintf("%s.%s.%s", plain(r.name), plain(filepath.Base(impl.Name)), side)
		args := ops.Profile{}
		if prof.cpu != "" {
			args.CPU = filepath.Join(prof.cpu, name+".cpu.pprof")
		}
		if prof.allocs != "" {
			args.Allocs = filepath.Join(prof.allocs, name+".allocs.pprof")
		}
		if _, err := control.Call[ops.Nothing](process, op, args, nil); err != nil {
			return err
		}
	}
	return nil
}

// plain makes a name fit for a file.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == ' ':
			return '-'
		case r == '=' || r == '%' || r == '+':
			return '_'
		}
		return r
	}, name)
}
