// SPDX-License-Identifier: Apache-2.0

// Command bench measures this module beside the published one: the same programs, built
// against each, client and server in a process of their own, in turn.
//
//	go run ./cmd/bench [flags]        rates, costs and latencies of calls and streams
//	go run ./cmd/bench idle [flags]   what connections cost while nothing happens
//	go run ./cmd/bench sparse [flags] what connections cost that make a call now and then
//	go run ./cmd/bench broadcast [flags]   one message to many streams
//	go run ./cmd/bench soak [flags]   whether anything stays behind after a bad day
//	go run ./cmd/bench xds [flags]    a client that a control plane leads
//
// It prints ratios of the medians' pairs with the interval that holds them, and writes
// every measurement to out/benchmark in the form that benchstat reads.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/workers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args, run := os.Args[1:], runRates
	if len(args) > 0 {
		switch args[0] {
		case "idle":
			args, run = args[1:], runIdle
		case "broadcast":
			args, run = args[1:], runBroadcast
		case "soak":
			args, run = args[1:], runSoak
		case "sparse":
			args, run = args[1:], runSparse
		case "xds":
			args, run = args[1:], runXDS
		}
	}
	if err := run(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags of the rates.
type options struct {
	impls   string
	rows    string
	pairs   int
	seconds float64
	warmup  float64
	quick   bool
	list    bool
	prof    profiling
}

const implsHelp = `what to measure, separated by commas; the last is what the others are compared with:
ours, published, the path of a worker built before, each with ` + workers.NoPool + ` behind it to turn read pooling off; A@B is a client of A with a server of B`

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.impls, "impls", workers.Ours+","+workers.Published, implsHelp)
	fs.StringVar(&o.rows, "rows", "", "regular expression: measure the rows it matches")
	fs.IntVar(&o.pairs, "pairs", 5, "measurements of each row and implementation, in turn")
	fs.Float64Var(&o.seconds, "seconds", 2, "how long each lasts")
	fs.Float64Var(&o.warmup, "warmup", 0.5, "seconds of load before it")
	fs.BoolVar(&o.quick, "quick", false, "a look of about a minute: fewer rows, short measurements")
	fs.BoolVar(&o.list, "list", false, "print the rows and end")
	fs.StringVar(&o.prof.cpu, "cpuprofile", "", "folder for CPU profiles of clients and servers")
	fs.StringVar(&o.prof.allocs, "allocprofile", "", "folder for allocation profiles; they cost speed")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.quick {
		for name, set := range map[string]func(){
			"pairs":   func() { o.pairs = 3 },
			"seconds": func() { o.seconds = 0.5 },
			"warmup":  func() { o.warmup = 0.2 },
		} {
			if !given[name] {
				set()
			}
		}
	}
	for _, dir := range []string{o.prof.cpu, o.prof.allocs} {
		if dir != "" {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

func (o options) timing() timing {
	return timing{warmup: seconds(o.warmup), window: seconds(o.seconds)}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func runRates(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	chosen, err := choose(o.rows, o.quick)
	if err != nil {
		return err
	}
	if o.list {
		for _, r := range rows() {
			fmt.Println(r.name)
		}
		return nil
	}
	if chosen = possible(os.Stdout, chosen); len(chosen) == 0 {
		return nil
	}
	impls, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	c := &campaign{options: o, impls: impls, rows: chosen, outcome: newOutcome(o, impls)}
	if err := c.run(ctx); err != nil {
		return err
	}
	c.printCosts(os.Stdout)
	c.printLatencies(os.Stdout)
	c.printOthers(os.Stdout)
	return c.save(os.Stdout)
}

// build builds the workers of the named implementations.
func build(ctx context.Context, names string) ([]workers.Impl, error) {
	var impls []workers.Impl
	for _, name := range strings.Split(names, ",") {
		impl, err := workers.Build(ctx, name)
		if err != nil {
			return nil, err
		}
		impls = append(impls, impl)
	}
	return impls, nil
}
