// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/verdict"
)

// shard is how many probes one process runs: when one of them takes the process down, so
// many are run again.
const shard = 40

// options are the flags.
type options struct {
	pattern       *regexp.Regexp
	verbose, list bool
	releases      [sides]string // of the published module, to compare these; else empty
}

// between reports whether two published releases are to be compared.
func (o options) between() bool { return o.releases[published] != "" }

// setBetween parses "v1.2.0,v1.3.0", the older release first.
func (o *options) setBetween(s string) error {
	older, newer, ok := strings.Cut(s, ",")
	if !ok || !strings.HasPrefix(older, "v") || !strings.HasPrefix(newer, "v") {
		return errors.New("want two releases, such as v1.2.0,v1.3.0")
	}
	o.releases = [sides]string{ours: newer, published: older}
	return nil
}

// plus says which side the lines with + are of.
func (o options) plus() string {
	if o.between() {
		return "(- " + o.releases[published] + ", + " + o.releases[ours] + ")"
	}
	return "(- published, + this module)"
}

// campaign runs probes in both builds.
type campaign struct {
	builds [sides]build
	chosen []probe.Entry
	kept   verdict.Kept
	opts   options
	slots  chan struct{} // one for each process that may run
	// patience is by how much probes wait longer than usual.
	patience int

	mu    sync.Mutex
	lines [sides]verdict.Lines
	dead  [sides]map[string]string // why the process of a probe died
}

func newCampaign(builds [sides]build, entries []probe.Entry, kept verdict.Kept, o options) *campaign {
	c := &campaign{builds: builds, kept: kept, opts: o, slots: make(chan struct{}, 2+2*runtime.GOMAXPROCS(0)), patience: 1}
	for _, e := range entries {
		if o.pattern.MatchString(e.Name) {
			c.chosen = append(c.chosen, e)
		}
	}
	for side := range sides {
		c.lines[side] = make(verdict.Lines)
		c.dead[side] = make(map[string]string)
	}
	return c
}

// run runs all chosen probes, and again, with less beside them and then alone, those whose
// process died, or that differ and are not listed, or the other way round: what a difference of
// timing made is not one of the modules. Those that run again are more patient.
func (c *campaign) run(ctx context.Context) {
	c.runOnce(ctx, c.chosen, shard)
	for again := shard / 4; again > 0; again /= 10 {
		c.patience = 4
		c.runOnce(ctx, c.surprising(), again)
	}
	for side := range sides {
		for _, e := range c.chosen {
			if _, there := c.lines[side][e.Name]; !there {
				c.lines[side][e.Name] = []string{"CRASH: " + c.dead[side][e.Name]}
			}
		}
	}
}

// runOnce runs probes in processes with up to shard of them, or their own.
func (c *campaign) runOnce(ctx context.Context, entries []probe.Entry, shard int) {
	var shared []probe.Entry
	var wg sync.WaitGroup
	for _, e := range entries {
		if e.Own {
			c.both(ctx, &wg, []string{e.Name}, e.Env)
		} else {
			shared = append(shared, e)
		}
	}
	for chunk := range slices.Chunk(shared, shard) {
		c.both(ctx, &wg, names(chunk), nil)
	}
	wg.Wait()
}

// both runs probes in both builds, each in one process.
func (c *campaign) both(ctx context.Context, wg *sync.WaitGroup, names, env []string) {
	for side := range sides {
		wg.Go(func() {
			c.slots <- struct{}{}
			defer func() { <-c.slots }()
			results, dead := c.builds[side].run(ctx, names, append(env, fmt.Sprint(probe.PatienceVariable, "=", c.patience)))
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, name := range names {
				delete(c.lines[side], name)
				c.dead[side][name] = dead
			}
			for _, r := range results {
				c.lines[side][r.Name] = r.Lines
			}
		})
	}
}

// surprising are those that did not run, or whose lines are not as the list says.
func (c *campaign) surprising() []probe.Entry {
	var out []probe.Entry
	for _, e := range c.chosen {
		a, haveA := c.lines[ours][e.Name]
		b, haveB := c.lines[published][e.Name]
		if !haveA || !haveB || !c.kept.Expects(e.Name, slices.Equal(a, b)) {
			out = append(out, e)
		}
	}
	return out
}

// print shows what there is to see: each difference, and the lines of all with -v.
func (c *campaign) print(r verdict.Report, kept verdict.Kept) {
	for _, e := range c.chosen {
		switch {
		case slices.Contains(r.Different, e.Name):
			fmt.Printf("DIFFERENT %s %s\n", e.Name, c.opts.plus())
			c.printDiff(e.Name)
		case c.opts.verbose && slices.Contains(r.Kept, e.Name):
			fmt.Printf("kept %s: %s %s\n", e.Name, kept.Reason(e.Name), c.opts.plus())
			c.printDiff(e.Name)
		case c.opts.verbose:
			fmt.Printf("same %s\n", e.Name)
			c.printDiff(e.Name)
		}
	}
	for _, name := range r.Stale {
		fmt.Printf("STALE %s: listed in differences.txt, and there is none\n", name)
	}
	for _, name := range r.Unknown {
		fmt.Printf("UNKNOWN %s: listed in differences.txt, and no probe has this name\n", name)
	}
}

func (c *campaign) printDiff(name string) {
	for _, line := range verdict.Diff(c.lines[published][name], c.lines[ours][name]) {
		fmt.Println("    " + line)
	}
}

func names(entries []probe.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name
	}
	return out
}
