// SPDX-License-Identifier: Apache-2.0

// Command parity shows what a program notices when it moves between the published
// google.golang.org/grpc and this module.
//
// It builds the program in ./probes twice from the same source, once with this module and
// once with the published one, runs every probe in both, and compares their lines. Each
// difference has to be listed in differences.txt with its reason, and each that is listed
// has to be there: the list can neither fall short nor grow old. The published module may answer
// in more than one way: before a probe fails, its published side is run again, ten times at most,
// and it is the same (VARIES) if one of these runs prints what the one run of this module did. Where this
// module hangs, or its process ends, nothing is the same but a published module that does so each time.
//
//	go run . [-run regexp] [-v] [-list] [-between v1.2.0,v1.3.0] [-again n] [-race]
//
// With -between it compares two published releases instead, and prints what differs. With -again it
// does all so often, and also prints the probes whose lines are not the same each time: a probe is to
// print what is decided. -race has the race detector shuffle the goroutines of both; what it reports of this
// module (RACE) is a failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/verdict"
)

func main() {
	var o options
	pattern := flag.String("run", "", "only probes whose names match this `regexp`")
	flag.BoolVar(&o.verbose, "v", false, "print the lines of every probe, not only where they differ")
	flag.BoolVar(&o.list, "list", false, "print the names of the probes, and end")
	flag.Func("between", "compare these two published `releases` instead: v1.2.0,v1.3.0", o.setBetween)
	flag.IntVar(&o.again, "again", 1, "run all this `often`, and print what is not the same each time")
	flag.BoolVar(&o.race, "race", false, "build the probes with the race detector")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := func() (bool, error) {
		var err error
		if flag.NArg() > 0 {
			return false, fmt.Errorf("it takes flags alone, and not %q: -run chooses probes", flag.Arg(0))
		}
		if o.pattern, err = regexp.Compile(*pattern); err != nil {
			return false, err
		}
		return compare(ctx, o)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
	}
	if !ok {
		stop()
		os.Exit(1)
	}
}

// compare says whether the differences are those that are listed.
func compare(ctx context.Context, o options) (bool, error) {
	start := time.Now()
	var kept verdict.Kept
	var err error
	if !o.between() {
		if kept, err = readKept(); err != nil {
			return false, err
		}
	}
	dir, err := os.MkdirTemp("", "parity")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	builds, err := buildBoth(ctx, dir, o)
	if err != nil {
		return false, err
	}
	entries, err := builds[ours].entries(ctx)
	if err != nil {
		return false, err
	}
	if o.list {
		for _, e := range newCampaign(builds, entries, o).chosen {
			fmt.Println(e.Name)
		}
		return true, nil
	}
	ok, steady := true, make(steadiness)
	for range o.again {
		c := newCampaign(builds, entries, o)
		c.run(ctx)
		steady.note(c)
		ok = c.judge(ctx, entries, kept, start) && ok
		start = time.Now()
	}
	return steady.print() && ok, ctx.Err()
}

// judge prints what the campaign has found, and reports whether that is what is listed.
func (c *campaign) judge(ctx context.Context, entries []probe.Entry, kept verdict.Kept, start time.Time) bool {
	for _, e := range c.chosen {
		if e.Fewer {
			c.lines[published][e.Name] = verdict.Shared(c.lines[ours][e.Name], c.lines[published][e.Name])
		}
	}
	if !c.opts.between() {
		c.confirm(ctx)
	}
	judge := func() verdict.Report {
		return verdict.Judge(names(c.chosen), names(entries), c.lines[ours], c.lines[published], kept)
	}
	report := judge()
	var vary []varied
	if report.Failed() && !c.opts.between() {
		vary = c.varies(ctx, report, kept)
		report = judge()
	}
	c.print(report, kept)
	printVaried(vary)
	fmt.Printf("%d probes: %d same, %d differ as listed, %d differ, %d listed in vain, %d where the published module varies; %.0f s\n",
		len(c.chosen), report.Same, len(report.Kept), len(report.Different),
		len(report.Stale)+len(report.Unknown), len(vary), time.Since(start).Seconds())
	return !report.Failed() && len(c.deaths) == 0 && len(c.races) == 0
}

func readKept() (verdict.Kept, error) {
	const name = "differences.txt"
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	kept, err := verdict.ParseKept(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return kept, nil
}
