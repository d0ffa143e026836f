// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/internal/farpath"
)

// farResult is a row in a cell: what was measured without gRPC, then of each implementation.
type farResult struct {
	Row   string
	Cell  cell
	Impls []farMeasured
}

// farOutcome is all that `bench far` measured, as it is kept.
type farOutcome struct {
	Machine machine
	Seconds float64
	Labels  []string // "raw" is the first, the baseline the last
	Results []farResult
}

// runFar measures calls and streams over far paths, beside the same bytes over bare TCP.
func runFar(ctx context.Context, args []string) error {
	o, err := parseFar(args)
	if err != nil {
		return err
	}
	rows, err := chooseFar(o.rows)
	if err != nil {
		return err
	}
	if err := farpath.Available(); err != nil {
		fmt.Println("skipped:", err)
		return nil
	}
	built, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	impls := farImpls(built)
	outcome := farOutcome{Machine: thisMachine(time.Now()), Seconds: o.seconds}
	for _, impl := range impls {
		outcome.Labels = append(outcome.Labels, impl.name)
	}
	progress := newProgress(os.Stdout, len(rows)*len(o.cells)*len(impls))
	outcome.printHeader(os.Stdout)
	for _, r := range rows {
		for _, c := range o.cells {
			res := farResult{Row: r.name, Cell: c}
			for _, impl := range impls {
				progress.show(fmt.Sprintf("%s over %v: %s", r.name, c, impl.name))
				m, err := measureFar(ctx, c, r, impl, o)
				if err != nil {
					return err
				}
				res.Impls = append(res.Impls, m)
			}
			outcome.Results = append(outcome.Results, res)
			progress.clear()
			outcome.print(os.Stdout, res)
		}
	}
	return outcome.save(os.Stdout)
}
