// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"google.golang.org/grpc/benchmark/internal/stat"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// campaign is everything that is measured in one run of the program.
type campaign struct {
	options options
	impls   []workers.Impl // the last is the baseline
	rows    []row
	results []result
}

// result is what was measured of one row: a measurement for each pair.
type result struct {
	row   row
	impls [][]measured // in the order of campaign.impls
	floor []measured
}

func (c *campaign) base() int { return len(c.impls) - 1 }

// run measures all rows and prints each when it is done.
func (c *campaign) run(ctx context.Context) error {
	progress := newProgress(os.Stdout, c.measurements())
	c.printHeader(os.Stdout)
	for i, r := range c.rows {
		if r.share > 0 {
			most, err := c.baseMost(ctx)
			if err != nil {
				return err
			}
			r.load.Rate = most * r.share
			c.rows[i] = r
		}
		res := result{row: r, impls: make([][]measured, len(c.impls))}
		for pair := range c.options.pairs {
			if err := c.pair(ctx, &res, pair, progress); err != nil {
				return err
			}
		}
		c.results = append(c.results, res)
		progress.clear()
		c.printRate(os.Stdout, res)
	}
	return nil
}

// pair measures each implementation once, and the floor. The order changes from pair to
// pair, so that a machine that gets slower or faster favors none.
func (c *campaign) pair(ctx context.Context, res *result, pair int, progress *progress) error {
	order := make([]int, len(c.impls))
	for i := range order {
		order[i] = i
	}
	if pair%2 == 1 {
		slices.Reverse(order)
	}
	timing := c.options.timing()
	if floor := res.row.floor; floor != nil {
		progress.show(fmt.Sprintf("%s, pair %d", floor.name, pair+1))
		m, err := measure(ctx, *floor, c.impls[c.base()], timing, profiling{})
		if err != nil {
			return err
		}
		res.floor = append(res.floor, m)
	}
	for _, i := range order {
		progress.show(fmt.Sprintf("%s, pair %d: %s", res.row.name, pair+1, c.impls[i].Name))
		m, err := measure(ctx, res.row, c.impls[i], timing, c.profiling(pair))
		if err != nil {
			return err
		}
		res.impls[i] = append(res.impls[i], m)
	}
	return nil
}

// profiling is for the last pair alone: a profile has one measurement in it.
func (c *campaign) profiling(pair int) profiling {
	if pair != c.options.pairs-1 {
		return profiling{}
	}
	return c.options.prof
}

// baseMost is what the baseline does at most when each of 64 callers waits for its answer.
func (c *campaign) baseMost(ctx context.Context) (float64, error) {
	most := rows()[0]
	for _, res := range c.results {
		if res.row.name == most.name {
			return stat.Median(rates(res.impls[c.base()])), nil
		}
	}
	var all []float64
	for range 3 {
		m, err := measure(ctx, most, c.impls[c.base()], c.options.timing(), profiling{})
		if err != nil {
			return 0, err
		}
		all = append(all, m.Rate)
	}
	return stat.Median(all), nil
}

// measurements is how many there will be.
func (c *campaign) measurements() int {
	n := 0
	for _, r := range c.rows {
		n += c.options.pairs * len(c.impls)
		if r.floor != nil {
			n += c.options.pairs
		}
	}
	return n
}

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
