// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// rounds is how often both modules are run at most. They are run in turn while ours shows a
// kind of error that the published one has not shown.
const rounds = 6

// comparison has the outcomes of both modules.
type comparison struct {
	allowed         outcomes // kinds of outcomes that do not count as errors
	ours, published tally
}

// tally sums up the runs of one module.
type tally struct {
	runs  int
	total outcomes
	in    map[string]int // the number of runs that had an outcome of that kind
}

func (t *tally) add(o outcomes) {
	if t.total == nil {
		t.total, t.in = outcomes{}, make(map[string]int)
	}
	t.runs++
	t.total.merge(o)
	for kind := range o {
		t.in[kind]++
	}
}

// compare runs ours. While ours shows a kind of error that the published module has not shown,
// it runs both in turn. The one that was first in a round is second in the next.
func compare[P any](allowed outcomes, run func(P) (outcomes, error), sides [2]P) (comparison, error) {
	c := comparison{allowed: allowed}
	tallies := [2]*tally{&c.ours, &c.published}
	for round := 0; round < rounds; round++ {
		for turn := range tallies {
			side := (turn + round) % 2
			o, err := run(sides[side])
			if err != nil {
				return c, err
			}
			tallies[side].add(o)
			if c.settled() {
				return c, nil
			}
		}
	}
	return c, nil
}

// settled reports whether no more runs are needed: ours has run, and all kinds of errors that it
// has shown are allowed or were shown by the published module too.
func (c *comparison) settled() bool {
	return c.ours.runs > 0 && len(c.alone()) == 0
}

// alone returns the kinds of errors that only ours has shown.
func (c *comparison) alone() (kinds []string) {
	for _, kind := range sorted(c.ours.total) {
		if kind != "OK" && c.allowed[kind] == 0 && c.published.total[kind] == 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// guilty returns the kinds of errors that ours has shown in at least four of six runs and the
// published module in none of six. If both modules were equally likely to show an error, that
// would happen by chance in at most one of thirty comparisons (Fisher's exact test), and far less
// often for errors that are rare or frequent.
func (c *comparison) guilty() (kinds []string) {
	for _, kind := range c.alone() {
		if c.ours.in[kind]*3 >= rounds*2 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (c *comparison) String() string {
	text := c.ours.total.String()
	if c.ours.runs > 1 {
		text += fmt.Sprintf(" in %d runs", c.ours.runs)
	}
	if c.published.runs > 0 {
		text += fmt.Sprintf("; published: %v in %d runs", c.published.total, c.published.runs)
	}
	return text
}
