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

// shard is how many probes one process runs.
const shard = 40

// options are the flags.
type options struct {
	pattern       *regexp.Regexp
	verbose, list bool
	releases      [sides]string // of the published module, to compare these; else empty
	again         int           // how often all is run
	race          bool          // with the race detector
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
	opts   options
	slots  chan struct{} // one for each process that may run

	mu    sync.Mutex
	lines [sides]verdict.Lines
	// deaths names the probes whose process another one took down.
	deaths []string
	dead   [sides]map[string]string // why the process of a probe died, if it did
	races  races                    // of this module
}

func newCampaign(builds [sides]build, entries []probe.Entry, o options) *campaign {
	c := &campaign{builds: builds, opts: o, races: make(races), slots: make(chan struct{}, 2+4*runtime.GOMAXPROCS(0))}
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

// run runs all chosen probes, once. Those that never ran, since another one took their process down,
// run in processes of their own, which tells who it was: only a probe that has a process of its own
// may end it.
func (c *campaign) run(ctx context.Context) {
	var shared, own []probe.Entry
	for _, e := range c.chosen {
		if e.Own {
			own = append(own, e)
		} else {
			shared = append(shared, e)
		}
	}
	var wg sync.WaitGroup
	for _, e := range own {
		c.both(ctx, &wg, []string{e.Name}, e.Env)
	}
	for chunk := range slices.Chunk(shared, shard) {
		c.both(ctx, &wg, names(chunk), nil)
	}
	wg.Wait()
	for side := range sides {
		for _, name := range c.unheard(side, own) {
			c.lines[side][name] = []string{"CRASH: " + c.dead[side][name]}
		}
		for _, name := range c.unheard(side, shared) {
			c.deaths = append(c.deaths, fmt.Sprintf("%s: %s", name, c.dead[side][name]))
			c.one(ctx, &wg, side, []string{name}, nil)
		}
	}
	wg.Wait()
	for side := range sides {
		for _, name := range c.unheard(side, shared) {
			c.lines[side][name] = []string{"CRASH: " + c.dead[side][name]}
		}
	}
}

// unheard are the names of those that have said nothing on a side.
func (c *campaign) unheard(side int, entries []probe.Entry) []string {
	var out []string
	for _, e := range entries {
		if _, there := c.lines[side][e.Name]; !there {
			out = append(out, e.Name)
		}
	}
	return out
}

// both runs probes in both builds, each in one process.
func (c *campaign) both(ctx context.Context, wg *sync.WaitGroup, names, env []string) {
	for side := range sides {
		c.one(ctx, wg, side, names, env)
	}
}

// one runs probes in one process of a build.
func (c *campaign) one(ctx context.Context, wg *sync.WaitGroup, side int, names, env []string) {
	wg.Go(func() {
		c.slots <- struct{}{}
		defer func() { <-c.slots }()
		out := c.builds[side].run(ctx, names, env)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, name := range names {
			c.dead[side][name] = out.dead
		}
		for _, r := range out.results {
			c.lines[side][r.Name] = r.Lines
		}
		if side == ours {
			c.races.note(out.races, names)
		}
	})
}

// print shows what there is to see: each difference, and the lines of all with -v.
func (c *campaign) print(r verdict.Report, kept verdict.Kept) {
	for _, e := range c.chosen {
		switch {
		case slices.Contains(r.Different, e.Name):
			fmt.Printf("DIFFERENT %s %s\n", e.Name, c.opts.plus())
			c.printDiff(e.Name, c.opts.verbose)
		case c.opts.verbose && slices.Contains(r.Kept, e.Name):
			fmt.Printf("kept %s: %s %s\n", e.Name, kept.Reason(e.Name), c.opts.plus())
			c.printDiff(e.Name, true)
		case c.opts.verbose:
			fmt.Printf("same %s\n", e.Name)
			c.printDiff(e.Name, true)
		}
	}
	c.races.print()
	for _, death := range c.deaths {
		fmt.Printf("NOT RUN %s: a probe took the process down that it shares; see Alone\n", death)
	}
	for _, name := range r.Stale {
		fmt.Printf("STALE %s: listed in differences.txt, and there is none\n", name)
	}
	for _, name := range r.Unknown {
		fmt.Printf("UNKNOWN %s: listed in differences.txt, and no probe has this name\n", name)
	}
}

func (c *campaign) printDiff(name string, whole bool) {
	diff := verdict.Diff(c.lines[published][name], c.lines[ours][name])
	if !whole {
		diff = verdict.Brief(diff)
	}
	for _, line := range diff {
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
