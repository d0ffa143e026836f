// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
)

// farResult is a row in a cell: what was measured without gRPC, then of each implementation, in
// each run.
type farResult struct {
	Row   string
	Cell  cell
	Impls [][]farMeasured
}

// measured is the run of the i-th implementation that was its median.
func (r farResult) measured(i int) farMeasured {
	runs := slices.Clone(r.Impls[i])
	slices.SortFunc(runs, func(a, b farMeasured) int { return cmp.Compare(a.worth(), b.worth()) })
	return runs[len(runs)/2]
}

// farOutcome is all that `bench far` measured, as it is kept.
type farOutcome struct {
	Machine machine
	Runs    int
	Labels  []string // "raw" is the first, the baseline the last
	Results []farResult
}
