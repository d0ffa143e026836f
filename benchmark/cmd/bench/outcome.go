// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"time"

	"google.golang.org/grpc/benchmark/internal/workers"
)

// outcome is all that a run measured, as it is kept.
type outcome struct {
	Machine machine
	Labels  []string // of the implementations; the last is the baseline
	Pairs   int
	Seconds float64
	// Others is which share of the machine other programs used meanwhile.
	Others  float64
	Results []result
}

// result is what was measured of one row: a measurement for each pair.
type result struct {
	Row     string
	Kind    string
	Size    int
	Callers int
	Want    float64      `json:",omitempty"`
	Share   float64      `json:",omitempty"`
	Impls   [][]measured // in the order of outcome.Labels
	Floor   []measured   `json:",omitempty"`
	// Exact says that the floor is this module over exact sockets.
	Exact bool `json:",omitempty"`
}

func newOutcome(o options, impls []workers.Impl) outcome {
	out := outcome{Machine: thisMachine(time.Now()), Pairs: o.pairs, Seconds: o.seconds}
	for _, impl := range impls {
		out.Labels = append(out.Labels, filepath.Base(impl.Name))
	}
	return out
}

func (o outcome) base() int { return len(o.Labels) - 1 }

func rates(ms []measured) []float64 {
	return column(ms, func(m measured) float64 { return m.Rate })
}

func column(ms []measured, of func(measured) float64) []float64 {
	values := make([]float64, len(ms))
	for i, m := range ms {
		values[i] = of(m)
	}
	return values
}
