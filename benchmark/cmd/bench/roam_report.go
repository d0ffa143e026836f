// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// roamResult is what was measured in a case, of each implementation in each run.
type roamResult struct {
	Case  roamCase
	Impls [][]roamed
}

// measured is the run of the i-th implementation that was its median; no success counts as the
// longest.
func (r roamResult) measured(i int) roamed {
	runs := slices.Clone(r.Impls[i])
	slices.SortFunc(runs, func(a, b roamed) int { return cmp.Compare(uint64(a.Back), uint64(b.Back)) })
	return runs[len(runs)/2]
}

// roamOutcome is all that `bench roam` measured, as it is kept.
type roamOutcome struct {
	Machine machine
	Runs    int
	Within  time.Duration
	Labels  []string
	Results []roamResult
}

func (o roamOutcome) printHeader(w io.Writer) {
	fmt.Fprintf(w, "\n%v\nThe link goes down under a channel that has made a call, and comes back; calls with a deadline of 1 s, wait for ready.\n"+
		"How long after the link is back a call succeeds, connection attempts, look-ups, failed calls. Medians of %d runs.\n\n",
		o.Machine, o.Runs)
	fmt.Fprintf(w, "%-6s %-24s %-10s", "DOWN", "what changes", "keepalive")
	for _, label := range o.Labels {
		fmt.Fprintf(w, " %-42s", filepath.Base(label))
	}
	fmt.Fprintln(w)
}

// print prints a case.
func (o roamOutcome) print(w io.Writer, res roamResult) {
	alive := "no"
	if res.Case.Keepalive {
		alive = "yes"
	}
	fmt.Fprintf(w, "%-6v %-24s %-10s", res.Case.Down, res.Case.Changes, alive)
	for i := range res.Impls {
		fmt.Fprintf(w, " %-42s", o.text(res.measured(i)))
	}
	fmt.Fprintln(w)
}

func (o roamOutcome) text(m roamed) string {
	after := fmt.Sprintf("not in %v", o.Within)
	if m.Back >= 0 {
		after = fmt.Sprintf("%.1f s", m.Back.Seconds())
	}
	return fmt.Sprintf("%s, %d dials, %d look-ups, %d failed", after, m.Dials, m.Lookups, m.Failed)
}
