// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/verdict"
)

// retries is how often the published side of a probe is run again at most.
const retries = 10

// varied is a probe that the published module answers in more than one way.
type varied struct {
	name string
	text string   // what its other answer shows
	diff []string // its first answer beside that of this module
}

// varies runs the published side of the probes again that would fail, each in a process of its own,
// and takes another answer in place of the first one if that settles it. This module has one run.
func (c *campaign) varies(ctx context.Context, r verdict.Report, kept verdict.Kept) []varied {
	doubtful := r.Doubtful(names(c.chosen), c.lines[ours], kept)
	var wg sync.WaitGroup
	var out []varied
	for _, e := range c.chosen {
		same, doubted := doubtful[e.Name]
		if !doubted {
			continue
		}
		first, mine := c.lines[published][e.Name], c.lines[ours][e.Name]
		wg.Go(func() {
			theirs, found := verdict.Another(mine, same, c.answers(ctx, e))
			if !found {
				return
			}
			v := varied{e.Name, "the published module prints this, too", verdict.Diff(first, mine)}
			if !same {
				v.text, v.diff = "the published module differs as listed, but not always", verdict.Diff(theirs, mine)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lines[published][e.Name] = theirs
			out = append(out, v)
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b varied) int { return c.place(a.name) - c.place(b.name) })
	return out
}

// confirm runs the published side again of the probes that are broken off on both sides, and takes the first
// answer that is not: a hang of this module is excused by one that is always there, not by chance.
func (c *campaign) confirm(ctx context.Context) {
	var wg sync.WaitGroup
	for _, e := range c.chosen {
		mine, first := c.lines[ours][e.Name], c.lines[published][e.Name]
		if !verdict.BrokenOff(mine) || !slices.Equal(mine, first) {
			continue
		}
		wg.Go(func() {
			if theirs, found := verdict.Another(mine, false, c.answers(ctx, e)); found {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.lines[published][e.Name] = theirs
			}
		})
	}
	wg.Wait()
}

// place is where a probe is among those that were chosen.
func (c *campaign) place(name string) int {
	return slices.IndexFunc(c.chosen, func(e probe.Entry) bool { return e.Name == name })
}

// answers runs the published side of a probe again for each answer that is asked for.
func (c *campaign) answers(ctx context.Context, e probe.Entry) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for range retries {
			lines := c.answer(ctx, e)
			if ctx.Err() != nil || !yield(lines) {
				return
			}
		}
	}
}

// answer is what the published side of a probe prints in one more run.
func (c *campaign) answer(ctx context.Context, e probe.Entry) []string {
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	out := c.builds[published].run(ctx, []string{e.Name}, e.Env)
	lines := []string{"CRASH: " + out.dead}
	if len(out.results) > 0 {
		lines = out.results[0].Lines
	}
	if e.Fewer {
		c.mu.Lock()
		defer c.mu.Unlock()
		return verdict.Shared(c.lines[ours][e.Name], lines)
	}
	return lines
}

func printVaried(all []varied) {
	for _, v := range all {
		fmt.Printf("VARIES %s: %s\n", v.name, v.text)
		for _, line := range verdict.Brief(v.diff) {
			fmt.Println("    " + line)
		}
	}
}
