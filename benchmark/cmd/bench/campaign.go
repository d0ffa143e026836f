// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/stat"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// campaign is everything that is measured in one run of the program.
type campaign struct {
	options options
	impls   []workers.Impl // the last is the baseline
	rows    []row
	most    map[string]float64 // what the baseline does at most in rows that are not measured themselves
	outcome
}

// run measures all rows and prints each when it is done.
func (c *campaign) run(ctx context.Context) error {
	progress := newProgress(os.Stdout, c.measurements())
	c.printHeader(os.Stdout)
	others := sample.Others()
	for i, r := range c.rows {
		part := 0.0
		if r.share != nil {
			most, err := c.baseMost(ctx, *r.share.of)
			if err != nil {
				return err
			}
			part = r.share.part
			r.load.Rate = most * part
			c.rows[i] = r
		}
		res := result{
			Row:     r.name,
			Kind:    r.load.Kind,
			Size:    r.load.Size,
			Callers: r.load.Callers,
			Want:    r.want,
			Share:   part,
			Exact:   r.link.Wrap != ops.Exact,
			Impls:   make([][]measured, len(c.impls)),
		}
		for range c.options.pairs {
			if err := c.pair(ctx, r, &res, progress); err != nil {
				return err
			}
		}
		c.Results = append(c.Results, res)
		progress.clear()
		c.printRate(os.Stdout, res)
	}
	c.Others = others()
	return nil
}

// pair measures each implementation once, and the floor. The order changes from pair to
// pair, so that a machine that gets slower or faster favors none.
func (c *campaign) pair(ctx context.Context, r row, res *result, progress *progress) error {
	pair := len(res.Impls[0])
	order := make([]int, len(c.impls))
	for i := range order {
		order[i] = i
	}
	if pair%2 == 1 {
		slices.Reverse(order)
	}
	timing := c.options.timing()
	if floor := r.floor; floor != nil && !(c.options.quick && pair > 0) {
		progress.show(fmt.Sprintf("%s, pair %d", floor.name, pair+1))
		impl := c.impls[c.base()]
		if res.Exact {
			impl = c.impls[0]
		}
		m, err := measure(ctx, *floor, impl, timing, profiling{})
		if err != nil {
			return err
		}
		res.Floor = append(res.Floor, m)
	}
	for _, i := range order {
		progress.show(fmt.Sprintf("%s, pair %d: %s", r.name, pair+1, c.impls[i].Name))
		m, err := measure(ctx, r, c.impls[i], timing, c.profiling(pair))
		if err != nil {
			return err
		}
		res.Impls[i] = append(res.Impls[i], m)
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

// baseMost is what the baseline does at most in a row.
func (c *campaign) baseMost(ctx context.Context, r row) (float64, error) {
	for _, res := range c.Results {
		if res.Row == r.name {
			return stat.Median(rates(res.Impls[c.base()])), nil
		}
	}
	if most, ok := c.most[r.name]; ok {
		return most, nil
	}
	var all []float64
	for range 3 {
		m, err := measure(ctx, r, c.impls[c.base()], c.options.timing(), profiling{})
		if err != nil {
			return 0, err
		}
		all = append(all, m.Rate)
	}
	if c.most == nil {
		c.most = map[string]float64{}
	}
	c.most[r.name] = stat.Median(all)
	return c.most[r.name], nil
}

// measurements is how many there will be.
func (c *campaign) measurements() int {
	n := 0
	for _, r := range c.rows {
		n += c.options.pairs * len(c.impls)
		switch {
		case r.floor == nil:
		case c.options.quick:
			n++
		default:
			n += c.options.pairs
		}
	}
	return n
}
