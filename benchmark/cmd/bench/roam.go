// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/benchmark/internal/workers"
	"google.golang.org/grpc/internal/farpath"
)

// runRoam measures how soon a client calls with success once its network is back.
func runRoam(ctx context.Context, args []string) error {
	o, err := parseRoam(args)
	if err != nil {
		return err
	}
	if err := farpath.Available(); err != nil {
		if again, err := asRoot(ctx); again {
			return err
		}
		fmt.Println("skipped:", err)
		return nil
	}
	impls, err := build(ctx, o.impls)
	if err != nil {
		return err
	}
	outcome := roamOutcome{Machine: thisMachine(time.Now()), Runs: o.runs, Within: o.within}
	for _, impl := range impls {
		outcome.Labels = append(outcome.Labels, impl.Name)
	}
	outcome.printHeader(os.Stdout)
	for _, down := range o.down {
		results, err := roamAll(ctx, impls, down, o)
		if err != nil {
			return err
		}
		for _, res := range results {
			outcome.print(os.Stdout, res)
		}
		outcome.Results = append(outcome.Results, results...)
	}
	dir, err := workers.OutDir()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "roam.json")
	fmt.Println("\nEvery measurement:", file)
	return keep(file, outcome)
}

// roamAll measures all cases of one outage at the same time: they wait most of it. Each run of
// each has a path of its own.
func roamAll(ctx context.Context, impls []workers.Impl, down time.Duration, o roamOptions) ([]roamResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cases := roamCases(down)
	results := make([]roamResult, len(cases))
	var wg sync.WaitGroup
	for i, c := range cases {
		results[i] = roamResult{Case: c, Impls: make([][]roamed, len(impls))}
		for j, impl := range impls {
			results[i].Impls[j] = make([]roamed, o.runs)
			for k := range o.runs {
				wg.Go(func() {
					m, err := measureRoam(ctx, c, impl, o.within)
					if err != nil {
						cancel(fmt.Errorf("%v of %s: %w", c, impl.Name, err))
					}
					results[i].Impls[j][k] = m
				})
			}
		}
	}
	wg.Wait()
	return results, context.Cause(ctx)
}
