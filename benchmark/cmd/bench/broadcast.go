// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// broadcastOptions are the flags of the broadcasts.
type broadcastOptions struct {
	impls                             string
	streams, conns, size, times, runs int
	prof                              profiling
}

func parseBroadcast(args []string) (broadcastOptions, error) {
	var o broadcastOptions
	fs := flag.NewFlagSet("bench broadcast", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+workers.Handed+","+workers.Ours+","+workers.Published, implsHelp)
	fs.IntVar(&o.streams, "streams", 10_000, "how many streams are open")
	fs.IntVar(&o.conns, "conns", 100, "on how many connections")
	fs.IntVar(&o.size, "size", 1024, "bytes of a message")
	fs.IntVar(&o.times, "times", 50, "broadcasts in a run")
	fs.IntVar(&o.runs, "runs", 3, "runs of each implementation, in turn")
	fs.StringVar(&o.prof.cpu, "cpuprofile", "", "folder for CPU profiles of clients and servers, of the last run")
	if err := parseFlags(fs, args); err != nil || o.prof.cpu == "" {
		return o, err
	}
	return o, os.MkdirAll(o.prof.cpu, 0o755)
}

// broadcast is what one message to all streams costs.
type broadcast struct {
	took           time.Duration // until the last has it
	server, client time.Duration // processor time
	allocs         uint64        // of the server
}

// runBroadcast sends one message to many streams: a server with a handler for each that waits,
// or with streams that were handed over.
func runBroadcast(ctx context.Context, args []string) error {
	o, err := parseBroadcast(args)
	if err != nil {
		return err
	}
	impls, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	all := make(map[string][]broadcast)
	for range o.runs {
		for _, impl := range impls {
			b, err := o.measure(ctx, impl)
			if err != nil {
				return fmt.Errorf("%s: %w", impl.Name, err)
			}
			fmt.Printf("%s: %v until the last, processor time: server %v, client %v\n", impl.Name, round(b.took), round(b.server), round(b.client))
			all[impl.Name] = append(all[impl.Name], b)
		}
	}
	fmt.Printf("\nBROADCAST of %s to %d streams on %d connections; medians of %d runs of %d\n", size(o.size), o.streams, o.conns, o.runs, o.times)
	fmt.Printf("%-24s %14s %14s %10s %14s %14s\n", "", "until the last", "server's CPU", "a stream", "client's CPU", "allocations")
	for _, impl := range impls {
		b := median(all[impl.Name])
		fmt.Printf("%-24s %14v %14v %10v %14v %14d\n", filepath.Base(impl.Name), round(b.took), round(b.server),
			(b.server / time.Duration(o.streams)).Round(time.Nanosecond), round(b.client), b.allocs)
	}
	first := median(all[impls[0].Name])
	for _, impl := range impls[1:] {
		fmt.Printf("server's CPU of %s / that of %s: %.2f\n", filepath.Base(impl.Name), filepath.Base(impls[0].Name),
			float64(median(all[impl.Name]).server)/float64(first.server))
	}
	return nil
}

// median is the run whose server took the median of processor time.
func median(runs []broadcast) broadcast {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b broadcast) int { return int(a.server - b.server) })
	return runs[len(runs)/2]
}

func (o broadcastOptions) measure(ctx context.Context, impl workers.Impl) (_ broadcast, err error) {
	pair, err := workers.StartPair(ctx, impl, ops.Serve{Link: linkOf(ops.TCP), Addresses: 1})
	if err != nil {
		return broadcast{}, err
	}
	defer func() {
		if e := pair.Close(); err == nil {
			err = e
		}
	}()
	if _, err := pair.Open(ops.Open{Connections: o.conns, Calls: 1, Watch: true, Streams: o.streams / o.conns}, nil); err != nil {
		return broadcast{}, err
	}
	if _, err := o.publish(pair, 3); err != nil {
		return broadcast{}, err
	}
	server, client, err := workers.Both[sample.Counters](pair, ops.OpCounters, ops.Nothing{})
	if err != nil {
		return broadcast{}, err
	}
	row := row{name: "broadcast"}
	if err := profile(pair, ops.OpProfile, row, impl, o.prof); err != nil {
		return broadcast{}, err
	}
	took, err := o.publish(pair, o.times)
	if err != nil {
		return broadcast{}, err
	}
	if err := profile(pair, ops.OpFinish, row, impl, o.prof); err != nil {
		return broadcast{}, err
	}
	server2, client2, err := workers.Both[sample.Counters](pair, ops.OpCounters, ops.Nothing{})
	n := time.Duration(o.times)
	return broadcast{
		took:   took / n,
		server: (server2.CPU - server.CPU) / n,
		client: (client2.CPU - client.CPU) / n,
		allocs: (server2.Allocs - server.Allocs) / uint64(o.times),
	}, err
}

// publish broadcasts n times, one after the other, and returns how long that took.
func (o broadcastOptions) publish(pair *workers.Pair, n int) (took time.Duration, err error) {
	for range n {
		p, err := pair.Publish(o.size)
		if err != nil {
			return 0, err
		}
		if want := o.streams / o.conns * o.conns; p.Events != want {
			return 0, fmt.Errorf("%d of %d streams have it", p.Events, want)
		}
		took += p.Took
	}
	return took, nil
}
