// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"google.golang.org/grpc/interop/internal/programs"
)

// twice fills in a row. Cases that fail are run again: some clients give up when the machine
// is too slow for them. Those that fail again are run with the published module in place of
// ours, and what fails with that too is the other side's. The row's note tells of both.
func (w *workshop) twice(out row, run func(p programs.Programs, only []string) ([]result, error)) row {
	var err error
	if out.results, err = run(w.ours, nil); err != nil {
		return out.failedWith(err)
	}
	for _, next := range []struct {
		programs programs.Programs
		pardons  bool // whether a case is pardoned that has this outcome
		why      string
	}{
		{w.ours, true, "passes the second time"},
		{w.published, false, "fails with the published module too"},
	} {
		failed := failedCases(out.results)
		if len(failed) == 0 {
			return out
		}
		again, err := run(next.programs, failed)
		if err != nil {
			return out.failedWith(err)
		}
		out.pardon(again, next.pardons, next.why)
	}
	return out
}

// failedCases are the names of cases that failed.
func failedCases(results []result) (names []string) {
	for _, r := range results {
		if !r.ok {
			names = append(names, r.name)
		}
	}
	return names
}

// pardon has cases count as passed that failed and have the outcome ok in again.
func (r *row) pardon(again []result, ok bool, why string) {
	for _, a := range again {
		for i := range r.results {
			if c := &r.results[i]; c.name == a.name && !c.ok && a.ok == ok {
				c.ok = true
				r.note += fmt.Sprintf("%s %s; ", c.name, why)
			}
		}
	}
}
