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
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// idleOptions are the flags of the idle measurements.
type idleOptions struct {
	impls, links, messages, steps, svg string
	linger, quiet                      time.Duration
	watch                              bool
}

func parseIdle(args []string) (idleOptions, error) {
	var o idleOptions
	fs := flag.NewFlagSet("bench idle", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp)
	fs.StringVar(&o.links, "over", "tcp,unix,tls", "how to connect: tcp, unix, tls, unix+tls")
	fs.StringVar(&o.steps, "n", "1000,5000,9000", "numbers of connections, rising")
	fs.StringVar(&o.messages, "messages", "128", "bytes of a message each way before idling; one table for each, e.g. 128,16384,1048576")
	fs.DurationVar(&o.linger, "linger", 1500*time.Millisecond, "how long connections are left alone before memory is measured")
	fs.DurationVar(&o.quiet, "quiet", 5*time.Second, "how long the processor time of idleness is measured")
	fs.BoolVar(&o.watch, "watch", false, "leave a stream open on each connection")
	fs.StringVar(&o.svg, "svg", "", "file for the chart (default out/benchmark/idle.svg)")
	return o, fs.Parse(args)
}

// idleTable is what was measured over one kind of link with one size of message.
type idleTable struct {
	over    string
	message int
	results []idle.Result
}

func runIdle(ctx context.Context, args []string) error {
	o, err := parseIdle(args)
	if err != nil {
		return err
	}
	steps, err := numbers(o.steps)
	if err != nil {
		return err
	}
	messages, err := numbers(o.messages)
	if err != nil {
		return err
	}
	impls, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	var tables []idleTable
	for _, over := range strings.Split(o.links, ",") {
		for _, message := range messages {
			t := idleTable{over: over, message: message}
			for _, impl := range impls {
				result, err := idle.Measure(ctx, impl, idle.Params{
					Link:        linkOf(over),
					Steps:       steps,
					MessageSize: message,
					Watch:       o.watch,
					Linger:      o.linger,
					Quiet:       o.quiet,
					OneByOne:    true,
				}, idle.Terminal(os.Stdout))
				if err != nil {
					return err
				}
				t.results = append(t.results, result)
			}
			tables = append(tables, t)
			t.print(os.Stdout)
		}
	}
	return saveIdle(o, tables)
}

func linkOf(over string) ops.Link {
	link := ops.Link{Protocol: ops.GRPC, Network: ops.TCP, Security: ops.Insecure}
	network, security, both := strings.Cut(over, "+")
	switch {
	case both:
		link.Network, link.Security = network, security
	case over == ops.TLS:
		link.Security = ops.TLS
	default:
		link.Network = over
	}
	return link
}

// print prints one table: a line for each step, side and implementation.
func (t idleTable) print(w io.Writer) {
	fmt.Fprintf(w, "\nIDLE over %s, after a message of %s each way; for one connection\n", t.over, size(t.message))
	fmt.Fprintf(w, "%-8s %-18s %-12s %10s %10s %10s %11s %8s\n", "side", "", "connections", "RSS", "heap", "stack", "goroutines", "files")
	for _, side := range []struct {
		name string
		of   func(idle.Step) sample.Memory
	}{
		{"server", func(s idle.Step) sample.Memory { return s.Server }},
		{"client", func(s idle.Step) sample.Memory { return s.Client }},
	} {
		for _, r := range t.results {
			line := func(what string, m sample.Memory) {
				fmt.Fprintf(w, "%-8s %-18s %-12s %10s %10s %10s %11.2f %8.2f\n", side.name, filepath.Base(r.Impl), what,
					chart.Bytes(m.RSS), chart.Bytes(m.Heap), chart.Bytes(m.Stack), m.Goroutines, m.Files)
			}
			for _, step := range r.Steps {
				line(strconv.Itoa(step.Connections), side.of(step))
			}
			if len(r.Steps) > 1 {
				line("slope", side.of(r.Slope))
			}
			line("idle again", side.of(r.After))
		}
	}
	for _, r := range t.results {
		fmt.Fprintf(w, "%s: all %d connections answered again, one after the other: p50 %v, p99 %v, max %v; processor time while idle: server %v, client %v\n",
			filepath.Base(r.Impl), r.Again.Calls, round(r.Again.Latency.P50), round(r.Again.Latency.P99), round(r.Again.Latency.Max),
			round(r.ServerCPU), round(r.ClientCPU))
	}
}

// saveIdle draws the slopes.
func saveIdle(o idleOptions, tables []idleTable) error {
	c := chart.Chart{
		Title:    "What an idle gRPC connection costs",
		Subtitle: fmt.Sprintf("RSS of one more connection, between %s connections", strings.ReplaceAll(o.steps, ",", ", ")),
		Format:   chart.Bytes,
	}
	for _, t := range tables {
		server := chart.Panel{Title: fmt.Sprintf("Server, %s, after %s", t.over, size(t.message))}
		client := chart.Panel{Title: fmt.Sprintf("Client, %s, after %s", t.over, size(t.message))}
		for _, r := range t.results {
			server.Bars = append(server.Bars, idleBar(r.Impl, r.Slope.Server))
			client.Bars = append(client.Bars, idleBar(r.Impl, r.Slope.Client))
		}
		c.Panels = append(c.Panels, server, client)
	}
	name := o.svg
	if name == "" {
		dir, err := workers.OutDir()
		if err != nil {
			return err
		}
		name = filepath.Join(dir, "idle.svg")
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	fmt.Printf("\nThe slopes as a picture: %s\n", name)
	return errors.Join(c.SVG(f), f.Close())
}

func idleBar(impl string, m sample.Memory) chart.Bar {
	return chart.Bar{
		Label:  filepath.Base(impl),
		Value:  m.RSS,
		Strong: impl == workers.Ours,
		Note:   fmt.Sprintf("heap %s, stack %s, goroutines %.1f", chart.Bytes(m.Heap), chart.Bytes(m.Stack), m.Goroutines),
	}
}

func numbers(list string) ([]int, error) {
	var all []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a list of numbers from 1", list)
		}
		all = append(all, n)
	}
	return all, nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
