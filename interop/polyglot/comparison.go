// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// rounds is how often both modules are run, in turn, while ours shows a kind of error
// that the published one has not shown.
const rounds = 6

// comparison is what two modules showed in runs that took turns.
type comparison struct {
	allowed         outcomes // kinds of errors that are none
	ours, published tally
}

// tally sums up the runs of one module.
type tally struct {
	runs  int
	total outcomes
	in    map[string]int // the number of runs that showed a kind of error
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

// compare runs ours, and as long as that shows a kind of error that the published module has
// not shown, both in turn, the other one first each time.
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

// settled tells whether there is nothing to find out: ours has run, and shows nothing that is
// not allowed and that the published module does not show.
func (c *comparison) settled() bool {
	return c.ours.runs > 0 && len(c.alone()) == 0
}

// alone are the kinds of errors that only ours showed.
func (c *comparison) alone() (kinds []string) {
	for _, kind := range sorted(c.ours.total) {
		if kind != "OK" && c.allowed[kind] == 0 && c.published.total[kind] == 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// guilty are the kinds of errors that ours shows and the published module does not, beyond
// what chance makes of two modules that show them alike: in four of six runs at least, and in
// none of six. That happens by chance once in thirty times at most (Fisher's exact test), and
// far more seldom for errors that are rare or frequent.
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
