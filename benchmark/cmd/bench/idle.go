// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/cloud"
	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// idleOptions are the flags of the idle measurements.
type idleOptions struct {
	impls, links, messages, steps, svg string
	linger, quiet                      time.Duration
	watch                              bool
	stall, streams                     int
}

func parseIdle(args []string) (idleOptions, error) {
	var o idleOptions
	fs := flag.NewFlagSet("bench idle", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp)
	fs.StringVar(&o.links, "over", "tcp,unix,tls", "how to connect: tcp, unix, tls, unix+tls, alts")
	fs.StringVar(&o.steps, "n", "1000,5000,9000", "numbers of connections, rising")
	fs.StringVar(&o.messages, "messages", "128", "bytes of a message each way before idling; one table for each, e.g. 128,16384,1048576")
	fs.DurationVar(&o.linger, "linger", 1500*time.Millisecond, "how long connections are left alone before memory is measured")
	fs.DurationVar(&o.quiet, "quiet", 5*time.Second, "how long the processor time of idleness is measured")
	fs.BoolVar(&o.watch, "watch", false, "leave a stream open on each connection")
	fs.IntVar(&o.streams, "streams", 0, "with -watch: leave so many streams open on each connection, and print what one of them costs")
	fs.IntVar(&o.stall, "stall", 0, "bytes of messages that the server sends on a stream of each connection and nobody reads")
	fs.StringVar(&o.svg, "svg", "", "file for the chart (default out/benchmark/idle.svg)")
	return o, parseFlags(fs, args)
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
	outcome := idleOutcome{Machine: thisMachine(time.Now()), Steps: steps, Watch: o.watch, Streams: o.streams, Stall: o.stall}
	for _, over := range strings.Split(o.links, ",") {
		if linkOf(over).Security == ops.ALTS {
			if err := cloud.Check(); err != nil {
				fmt.Printf("%s is skipped: %v\n", over, err)
				continue
			}
		}
		for _, message := range messages {
			t := idleTable{Over: over, Message: message, Streams: o.streams}
			for _, impl := range impls {
				result, err := idle.Measure(ctx, impl, idle.Params{
					Link:        linkOf(over),
					Steps:       steps,
					MessageSize: message,
					Watch:       o.watch,
					Streams:     o.streams,
					Stall:       o.stall,
					Linger:      o.linger,
					Quiet:       o.quiet,
					OneByOne:    true,
				}, idle.Terminal(os.Stdout))
				if err != nil {
					return err
				}
				t.Results = append(t.Results, result)
			}
			outcome.Tables = append(outcome.Tables, t)
			t.print(os.Stdout)
		}
	}
	if len(outcome.Tables) == 0 {
		return nil
	}
	return outcome.save(o.svg)
}

func linkOf(over string) ops.Link {
	link := ops.Link{Protocol: ops.GRPC, Network: ops.TCP, Security: ops.Insecure}
	network, security, both := strings.Cut(over, "+")
	switch {
	case both:
		link.Network, link.Security = network, security
	case over == ops.TLS, over == ops.ALTS:
		link.Security = over
	default:
		link.Network = over
	}
	return link
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

// save draws the chart into the named file, and keeps the results with a report.
func (o idleOutcome) save(svg string) error {
	dir, err := workers.OutDir()
	if err != nil {
		return err
	}
	if svg == "" {
		svg = filepath.Join(dir, "idle.svg")
	}
	f, err := os.Create(svg)
	if err != nil {
		return err
	}
	if err := errors.Join(o.chart().SVG(f), f.Close(), keep(filepath.Join(dir, idleFile), o)); err != nil {
		return err
	}
	page, err := writePage(dir)
	if err != nil {
		return err
	}
	fmt.Printf("\nChart: %s\nReport: %s\n", svg, page)
	return nil
}
