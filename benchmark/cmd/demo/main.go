// SPDX-License-Identifier: Apache-2.0

// Command demo shows what idle connections cost. It starts a server in one process and
// 2,000 client channels in another, lets each make a call, waits, and measures; for this
// module with pooled reads, without, and for the published module where that can be
// fetched. In the end every connection has to answer again. With -watch each connection
// also keeps a stream open.
//
// Run it in a checkout:
//
//	make demo
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.IntVar(&o.connections, "n", 2000, "connections")
	flag.StringVar(&o.network, "network", ops.TCP, "tcp or unix")
	flag.StringVar(&o.security, "security", ops.Insecure, "insecure or tls")
	flag.StringVar(&o.impls, "impls", strings.Join([]string{
		workers.Ours, workers.Ours + workers.NoPool, workers.Published,
	}, ","), "what to measure, in order")
	flag.BoolVar(&o.watch, "watch", false, "leave a stream open on each connection")
	flag.DurationVar(&o.linger, "linger", time.Second, "how long connections are left alone before they are measured")
	flag.StringVar(&o.svg, "svg", "", "file for the chart (default out/benchmark/demo.svg)")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type options struct {
	connections                   int
	network, security, impls, svg string
	watch                         bool
	linger                        time.Duration
}

func run(ctx context.Context, o options) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("it takes flags alone, and not %q", flag.Arg(0))
	}
	start := time.Now()
	var results []idle.Result
	for _, name := range strings.Split(o.impls, ",") {
		fmt.Printf("%s: building\n", name)
		impl, err := workers.Build(ctx, name)
		if err != nil && name == workers.Published && len(results) > 0 {
			fmt.Printf("%s: left out, it cannot be built here: %v\n", name, err)
			continue
		}
		if err != nil {
			return err
		}
		result, err := idle.Measure(ctx, impl, idle.Params{
			Link:        ops.Link{Protocol: ops.GRPC, Network: o.network, Security: o.security},
			Steps:       []int{o.connections},
			MessageSize: 128,
			Watch:       o.watch,
			Linger:      o.linger,
		}, idle.Terminal(os.Stdout))
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return errors.New("nothing was measured")
	}
	return report(o, results, time.Since(start))
}

// report prints the chart and what every connection did in the end.
func report(o options, results []idle.Result, took time.Duration) error {
	c := picture(o, results)
	fmt.Println()
	if err := c.Text(os.Stdout); err != nil {
		return err
	}
	name := o.svg
	if name == "" {
		dir, err := workers.OutDir()
		if err != nil {
			return err
		}
		name = filepath.Join(dir, "demo.svg")
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(c.SVG(f), f.Close()); err != nil {
		return err
	}
	fmt.Println()
	for _, r := range results {
		events := ""
		if o.watch {
			events = fmt.Sprintf(" and all %d streams carried an event", r.Again.Events)
		}
		fmt.Printf("%s: all %d connections answered again%s. Idle once more: %s on the server, %s on the client.\n",
			r.Impl, r.Again.Calls, events, chart.Bytes(r.After.Server.RSS), chart.Bytes(r.After.Client.RSS))
	}
	fmt.Printf("\nThe same as a picture: %s (%.0f s)\n", name, took.Seconds())
	return nil
}

func picture(o options, results []idle.Result) chart.Chart {
	n := o.connections
	known := "RSS"
	if !results[0].Steps[0].Server.RSSKnown {
		known = "memory of the Go runtime"
	}
	streams := ""
	if o.watch {
		streams = ", with an open stream"
	}
	c := chart.Chart{
		Title: "What an idle gRPC connection costs",
		Subtitle: fmt.Sprintf("%s for each of %d connections over %s (%s), after a call%s",
			known, n, o.network, o.security, streams),
		Format: chart.Bytes,
	}
	server := chart.Panel{Title: "Server, per connection"}
	client := chart.Panel{Title: "Client, per channel"}
	for _, r := range results {
		step := r.Steps[0]
		label := workers.Label(r.Impl)
		if label == "" {
			label = filepath.Base(r.Impl)
		}
		server.Bars = append(server.Bars, bar(label, r.Impl, step.Server, n))
		client.Bars = append(client.Bars, bar(label, r.Impl, step.Client, n))
	}
	c.Panels = []chart.Panel{server, client}
	return c
}
