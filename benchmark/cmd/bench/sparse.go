// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// sparseOptions are the flags of the measurements of sparse traffic.
type sparseOptions struct {
	impls, links, conns, every, spread, wraps string
	pairs, size                               int
	pings                                     bool
	window                                    time.Duration
	prof                                      profiling
}

func parseSparse(args []string) (sparseOptions, error) {
	var o sparseOptions
	fs := flag.NewFlagSet("bench sparse", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp+`; or raw and epoll, which carry the same bytes without gRPC: raw reads with a goroutine for each connection, epoll has a server with one for all`)
	fs.StringVar(&o.links, "over", "tcp,tls", "how to connect: tcp, unix, tls")
	fs.StringVar(&o.conns, "n", "3000,9000", "numbers of connections")
	fs.StringVar(&o.every, "every", "200ms,1s,5s,30s", "how often each of them makes a call")
	fs.StringVar(&o.spread, "spread", "evenly,bursts", "evenly: one call after the other; bursts: one on every connection at once")
	fs.StringVar(&o.wraps, "wrap", exact, "what is around the connections of both sides: "+exact+", "+strings.Join(sparseWraps, ", "))
	fs.BoolVar(&o.pings, "pings", false, "with pings in the place of calls, over tcp, from a client without gRPC: only the server's figures say something")
	fs.IntVar(&o.size, "size", 128, "bytes of a message each way")
	fs.IntVar(&o.pairs, "pairs", 3, "measurements of each row and implementation, in turn")
	fs.DurationVar(&o.window, "for", 3*time.Second, "how long each lasts at least; it lasts until each connection has made a call")
	fs.StringVar(&o.prof.cpu, "cpuprofile", "", "folder for CPU profiles of clients and servers")
	fs.StringVar(&o.prof.allocs, "allocprofile", "", "folder for profiles of what clients and servers allocate, from their start on")
	if err := parseFlags(fs, args); err != nil {
		return o, err
	}
	for _, wrap := range strings.Split(o.wraps, ",") {
		if wrap != exact && !slices.Contains(sparseWraps, wrap) {
			return o, fmt.Errorf("no wrapper is called %q", wrap)
		}
	}
	for _, dir := range []string{o.prof.cpu, o.prof.allocs} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return o, err
		}
	}
	return o, nil
}

// exact is what -wrap calls sockets without anything around them.
const exact = "exact"

// sparseWraps are the wrappers that -wrap knows: not the one with TLS of its own, which clients that
// only ping do not speak.
var sparseWraps = []string{ops.Embeds, ops.Counts, ops.Meters}

// sparseCallers are how many calls are on their way at the same time.
const sparseCallers = 64

// sparseRow is traffic of one kind.
type sparseRow struct {
	row
	over   string
	every  time.Duration
	spread string
}

// sparseResult is one measurement of it: what a call costs, and what a connection holds.
type sparseResult struct {
	measured
	server, client sample.Memory
}

func (o sparseOptions) rows() (all []sparseRow, err error) {
	conns, err := numbers(o.conns)
	if err != nil {
		return nil, err
	}
	for _, over := range strings.Split(o.links, ",") {
		for _, wrap := range strings.Split(o.wraps, ",") {
			for _, n := range conns {
				for _, text := range strings.Split(o.every, ",") {
					every, err := time.ParseDuration(text)
					if err != nil {
						return nil, err
					}
					for _, spread := range strings.Split(o.spread, ",") {
						all = append(all, o.row(over, wrap, n, every, spread))
					}
				}
			}
		}
	}
	return all, nil
}

func (o sparseOptions) row(over, wrap string, n int, every time.Duration, spread string) sparseRow {
	r := sparseRow{
		over: over, every: every, spread: spread,
		row: row{
			name: fmt.Sprintf("sparse/%s/n=%d/every=%v/%s", over, n, every, spread),
			link: linkOf(over), conns: n,
			load: ops.Load{
				Kind: ops.Unary, Callers: sparseCallers, Size: o.size, Every: every,
				Bursts: spread == "bursts",
			},
		},
	}
	if wrap != exact {
		r.name, r.link.Wrap = r.name+"/"+wrap, wrap
	}
	return r
}

func runSparse(ctx context.Context, args []string) error {
	o, err := parseSparse(args)
	if err != nil {
		return err
	}
	rows, err := o.rows()
	if err != nil {
		return err
	}
	impls, err := buildSparse(ctx, o.impls)
	if err != nil {
		return err
	}
	fmt.Printf("A call of %s each way now and then on each connection; medians of %d. RSS is of one connection, while the calls go on.\n", size(o.size), o.pairs)
	fmt.Printf("%-36s %-18s %9s %9s %9s %9s %10s %10s %10s\n", "row", "", "CPU server", "client", "RSS server", "client", "p50", "p99", "calls/s")
	for _, r := range rows {
		results := make([][]sparseResult, len(impls))
		for range o.pairs {
			for i, impl := range impls {
				one, err := measureSparse(ctx, r, impl, o)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", r.name, impl.Name, err)
				}
				results[i] = append(results[i], one)
			}
		}
		printSparse(os.Stdout, r, impls, results)
	}
	return nil
}

// sparseImpl is an implementation, or what is spoken in place of gRPC.
type sparseImpl struct {
	workers.Impl
	protocol string
}

func buildSparse(ctx context.Context, names string) (all []sparseImpl, err error) {
	for _, name := range strings.Split(names, ",") {
		impl, of := sparseImpl{protocol: ops.GRPC}, name
		if name == ops.Raw || name == ops.Epoll {
			impl.protocol, of = name, workers.Ours
		}
		if impl.Impl, err = workers.Build(ctx, of); err != nil {
			return nil, err
		}
		impl.Name = name
		all = append(all, impl)
	}
	return all, nil
}

// measureSparse does one measurement in two fresh processes.
func measureSparse(ctx context.Context, r sparseRow, impl sparseImpl, o sparseOptions) (result sparseResult, err error) {
	switch r.link.Protocol = impl.protocol; {
	case impl.protocol != ops.GRPC:
		r.load.Kind = ops.PingPong
	case o.pings:
		r.link.Protocol, r.load.Kind = ops.Pings, ops.Ping
	}
	if o.prof.allocs != "" {
		impl.Impl = impl.WithEnv("GODEBUG=memprofilerate=4096")
	}
	pair, err := workers.StartPair(ctx, impl.Impl, ops.Serve{Link: r.link, Addresses: 1 + r.conns/sparsePerAddress})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	open := func(n int) error {
		_, err := pair.Open(ops.Open{Connections: n, Calls: 1, MessageSize: o.size}, func(int, int) {})
		return err
	}
	if err := open(sparseCallers); err != nil { // what a process sets up once is no connection's
		return result, err
	}
	server, client, err := workers.Both[sample.Memory](pair, ops.OpSettle, ops.Nothing{})
	if err != nil {
		return result, err
	}
	if err := open(r.conns - sparseCallers); err != nil {
		return result, err
	}
	// The opening of thousands of connections leaves garbage, which rare calls would have collected
	// after minutes.
	if _, _, err := workers.Both[sample.Memory](pair, ops.OpSettle, ops.Nothing{}); err != nil {
		return result, err
	}
	load := r.load
	load.Warmup = min(10*r.every, 10*time.Second)
	if _, err := control.Call[ops.Nothing](pair.Client, ops.OpLoad, load, nil); err != nil {
		return result, err
	}
	t := timing{window: max(o.window, r.every)}
	if result.measured, err = window(pair, r.row, impl.Impl, t, o.prof); err != nil {
		return result, err
	}
	server2, client2, err := workers.Both[sample.Memory](pair, ops.OpResident, ops.Nothing{})
	result.server, result.client = server2.Minus(server, r.conns), client2.Minus(client, r.conns)
	return result, err
}

// sparsePerAddress is how many connections one destination address carries.
const sparsePerAddress = 10_000

func printSparse(w io.Writer, r sparseRow, impls []sparseImpl, results [][]sparseResult) {
	median := func(i int, of func(sparseResult) float64) float64 {
		var all []float64
		for _, one := range results[i] {
			all = append(all, of(one))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	columns := []func(sparseResult) float64{
		func(r sparseResult) float64 { return float64(r.Server.CPU) },
		func(r sparseResult) float64 { return float64(r.Client.CPU) },
		func(r sparseResult) float64 { return r.server.RSS },
		func(r sparseResult) float64 { return r.client.RSS },
		func(r sparseResult) float64 { return float64(r.Latency.P50) },
		func(r sparseResult) float64 { return float64(r.Latency.P99) },
		func(r sparseResult) float64 { return r.Rate },
	}
	last := len(impls) - 1
	for i, impl := range impls {
		fmt.Fprintf(w, "%-36s %-18s", r.name, filepath.Base(impl.Name))
		for k, of := range columns {
			v := median(i, of)
			text := fmt.Sprintf("%.0f", v)
			switch k {
			case 0, 1, 4, 5:
				text = fmt.Sprintf("%.1f us", v/1e3)
			case 2, 3:
				text = chart.Bytes(v)
			}
			fmt.Fprintf(w, " %10s", text)
		}
		if i != last {
			fmt.Fprint(w, "  ratios:")
			for _, of := range columns[:4] {
				fmt.Fprintf(w, " %.2f", median(i, of)/median(last, of))
			}
		}
		fmt.Fprintln(w)
	}
}
