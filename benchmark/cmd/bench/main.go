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
//	go run ./cmd/bench far [flags]    over a path with a round trip, a rate and loss, beside bare TCP
//	go run ./cmd/bench roam [flags]   a client whose network goes away and comes back
//	go run ./cmd/bench peers [flags]  beside gRPC by others: connect-go, Kitex, tonic, C++
//
// It prints ratios of the medians' pairs with the interval that holds them, and writes
// every measurement to out/benchmark in the form that benchstat reads.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run, args, err := command(os.Args[1:])
	if err == nil {
		err = run(ctx, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurement is what a command runs, with the arguments after its name.
type measurement func(ctx context.Context, args []string) error

// commands are all but the rates, which have no name.
var commands = map[string]measurement{
	"idle": runIdle, "broadcast": runBroadcast, "soak": runSoak, "sparse": runSparse,
	"xds": runXDS, "far": runFar, "roam": runRoam, "peers": runPeers,
}

// command finds what the arguments ask for. Without the name of a command it is the rates.
func command(args []string) (measurement, []string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return runRates, args, nil
	}
	if run, ok := commands[args[0]]; ok {
		return run, args[1:], nil
	}
	return nil, nil, fmt.Errorf("there is no command %q: it is one of %s, or none for the rates",
		args[0], strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
}

// parseFlags refuses what follows the flags.
func parseFlags(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%s takes flags alone, and not %q", fs.Name(), fs.Arg(0))
	}
	return nil
}

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
	c.printMemory(os.Stdout)
	c.printLatencies(os.Stdout)
	c.printOthers(os.Stdout)
	return c.save(os.Stdout)
}
