// SPDX-License-Identifier: Apache-2.0

// Command attack attacks servers and clients of this module and of the published one, kind
// by kind in turn, and compares what that does to them. It prints a table, writes it to
// out/attack, and fails if this module is worse than it may be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"

	"google.golang.org/grpc/attack/internal/cloud"
	"google.golang.org/grpc/attack/internal/kinds"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	kinds string
	ours  string
	runs  int
	time  time.Duration
	short bool
	list  bool
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	fs.StringVar(&o.kinds, "kinds", "", "regular expression: carry out the kinds whose names it matches")
	fs.StringVar(&o.ours, "ours", process.Ours, "what to compare with the published module: ours, or the path of a victim that was built before")
	fs.IntVar(&o.runs, "runs", 1, "how often each kind is carried out; the medians count")
	fs.DurationVar(&o.time, "time", 0, "how long an attack takes at most; 0: what suits it, 2s mostly")
	fs.BoolVar(&o.short, "short", false, "the kinds that have hurt before, a second each")
	fs.BoolVar(&o.list, "list", false, "print the kinds and end")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("attack takes flags alone, and not %q", fs.Arg(0))
	}
	return o, nil
}

func (o options) choose() ([]kinds.Kind, error) {
	re, err := regexp.Compile(o.kinds)
	if err != nil {
		return nil, err
	}
	var chosen []kinds.Kind
	for _, k := range kinds.All() {
		if re.MatchString(k.Name) && (!o.short || k.Short) {
			chosen = append(chosen, k.For(o.time, o.short))
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no kind has such a name: see -list")
	}
	return chosen, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	chosen, err := o.choose()
	if err != nil {
		return err
	}
	if o.list {
		for _, k := range chosen {
			fmt.Printf("%-40s %s\n", k.Name, k.About)
		}
		return nil
	}
	if slices.ContainsFunc(chosen, func(k kinds.Kind) bool { return k.Over(orders.ALTS) }) && !cloud.Here() && cloud.Check() == nil {
		return cloud.Again(ctx) // attackers do ALTS, too
	}
	f, err := newField(ctx, o.ours)
	if err != nil {
		return err
	}
	defer f.close()
	var rows []row
	printHead(os.Stdout)
	for _, k := range chosen {
		if ctx.Err() != nil {
			break
		}
		if err := f.ready(ctx, &k); err != nil {
			fmt.Printf("%-39s left out: %v\n", k.Name, err)
			continue
		}
		r, err := f.settle(ctx, k, o.runs)
		if err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		printRow(os.Stdout, r)
		rows = append(rows, r)
	}
	if err := save(rows); err != nil {
		return err
	}
	return conclude(os.Stdout, rows)
}
