// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"google.golang.org/grpc/interop/internal/programs"
)

// twice runs cases and fills in a row. It runs failed cases again, because some clients give up
// if the machine is too slow. If cases fail again, it runs them with the published module in
// place of ours. Those that fail with that too count as passed, because the fault is the other
// side's. The row's note names the cases that pass the second time, and those that fail with the
// published module.
func (w *workshop) twice(out row, run func(p programs.Programs, only []string) ([]result, error)) row {
	var err error
	if out.results, err = run(w.ours, nil); err != nil {
		return out.failedWith(err)
	}
	for _, next := range []struct {
		programs programs.Programs
		pardons  bool // the outcome of the run with which a failed case counts as passed
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

// failedCases returns the names of the cases that failed.
func failedCases(results []result) (names []string) {
	for _, r := range results {
		if !r.ok {
			names = append(names, r.name)
		}
	}
	return names
}

// pardon makes those failed cases count as passed whose outcome in again is ok.
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
