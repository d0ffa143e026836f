// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

type soakOptions struct {
	impls, links    string
	duration, round time.Duration
	clients         int
}

func parseSoak(args []string) (soakOptions, error) {
	var o soakOptions
	fs := flag.NewFlagSet("bench soak", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours, implsHelp)
	fs.StringVar(&o.links, "over", "tcp,tls,unix", "how to connect, one after the other: tcp, unix, tls")
	fs.DurationVar(&o.duration, "for", time.Minute, "how long, for each of them")
	fs.DurationVar(&o.round, "round", 15*time.Second, "how long until all connections close and memory is measured")
	fs.IntVar(&o.clients, "clients", 64, "clients at the same time")
	return o, parseFlags(fs, args)
}

func runSoak(ctx context.Context, args []string) error {
	o, err := parseSoak(args)
	if err != nil {
		return err
	}
	impls, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	var failed []error
	for _, impl := range impls {
		for _, over := range strings.Split(o.links, ",") {
			if err := soakOne(ctx, o, impl, over); err != nil {
				failed = append(failed, fmt.Errorf("%s over %s: %w", impl.Name, over, err))
			}
		}
	}
	return errors.Join(failed...)
}

// soakOne soaks one server in rounds. The first is not compared: it sets up what a process
// sets up once.
func soakOne(ctx context.Context, o soakOptions, impl workers.Impl, over string) (err error) {
	pair, err := workers.StartPair(ctx, impl, ops.Serve{Link: linkOf(over)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	fmt.Printf("\nSOAK of %s over %s, %d clients; after each round all connections are closed\n", impl.Name, over, o.clients)
	fmt.Printf("%-6s %9s %9s %8s %7s %5s   %-40s %s\n", "round", "channels", "calls", "failed", "cut", "odd", "server", "client")
	var first, last [2]sample.Memory
	rounds := max(int(o.duration/o.round), 2)
	odd := 0
	for i := range rounds {
		soaked, err := pair.Soak(ops.Soak{Duration: o.round, Workers: o.clients})
		if err != nil {
			return err
		}
		if err := sleep(ctx, 2*time.Second); err != nil { // for what closes by and by
			return err
		}
		last[0], last[1], err = workers.Both[sample.Memory](pair, ops.OpSettle, ops.Nothing{})
		if err != nil {
			return err
		}
		fmt.Printf("%-6d %9d %9d %8d %7d %5d   %-40s %s\n", i+1, soaked.Channels, soaked.Calls, soaked.Failed, soaked.Cuts, soaked.Odd,
			held(last[0]), held(last[1]))
		for _, text := range soaked.OddSamples {
			fmt.Println("       odd:", text)
		}
		odd += soaked.Odd
		if i == 0 {
			first = last
		}
	}
	if odd > 0 {
		return fmt.Errorf("%d errors that no cut accounts for", odd)
	}
	return errors.Join(grown("server", first[0], last[0]), grown("client", first[1], last[1]))
}

func held(m sample.Memory) string {
	return fmt.Sprintf("%s, heap %s, %.0f goroutines, %.0f files", chart.Bytes(m.RSS), chart.Bytes(m.Heap), m.Goroutines, m.Files)
}

// Allowances for what differs from round to round without growing.
const (
	someGoroutines = 8
	someFiles      = 4
	someHeap       = 1 << 20
)

// grown is an error if more is held in the end than after the first round.
func grown(side string, first, last sample.Memory) error {
	var errs []error
	for _, what := range []struct {
		name              string
		first, last, some float64
	}{
		{"goroutines", first.Goroutines, last.Goroutines, someGoroutines},
		{"files", first.Files, last.Files, someFiles},
		{"bytes of heap", first.Heap, last.Heap, someHeap},
	} {
		if what.last > what.first+what.some {
			errs = append(errs, fmt.Errorf("the %s held %.0f %s after the first round and %.0f in the end",
				side, what.first, what.name, what.last))
		}
	}
	return errors.Join(errs...)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
