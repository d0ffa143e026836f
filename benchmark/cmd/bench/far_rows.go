// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
)

// farRow is what is done over a path.
type farRow struct {
	name string
	flow ops.Flow
}

// pause is how long is waited before each call but the first.
const pause = 500 * time.Millisecond

// farRows are all there are.
func farRows() []farRow {
	rows := []farRow{
		{"down", ops.Flow{Kind: ops.Pull}},
		{"up", ops.Flow{Kind: ops.Push}},
	}
	for _, bytes := range []int{128, 64 << 10, 3 << 20} {
		rows = append(rows, farRow{"call/" + size(bytes), ops.Flow{Kind: ops.Unary, Size: bytes, Calls: 1, Pause: pause}})
	}
	return append(rows,
		farRow{"callers=64/128B", ops.Flow{Kind: ops.Unary, Size: 128, Callers: 64}},
		farRow{"callers=64/64KiB", ops.Flow{Kind: ops.Unary, Size: 64 << 10, Callers: 64}},
		farRow{"beside", ops.Flow{Kind: ops.Unary, Size: 128, Callers: 4, Beside: 1}},
	)
}

func farRowNames() []string {
	var names []string
	for _, r := range farRows() {
		names = append(names, r.name)
	}
	return names
}

func chooseFar(pattern string) ([]farRow, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var chosen []farRow
	for _, r := range farRows() {
		if re.MatchString(r.name) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no row matches %q", pattern)
	}
	return chosen, nil
}

// over is the row as it is measured in a cell: a number of calls, or what lasts for a time.
func (r farRow) over(c cell, calls int, lasts time.Duration) ops.Flow {
	f := r.flow
	message := 64 << 10
	if c.Rate > 0 && c.Rate < 50e6 { // few large ones would make steps of the rate
		message = 16 << 10
	}
	switch {
	case f.Calls > 0:
		f.Calls = calls
		return f
	case f.Kind != ops.Unary:
		f.Size = message
	case f.Beside > 0:
		f.Beside = message
	}
	f.For = lasts
	return f
}

// overTime says whether a flow has a rate over time.
func overTime(f ops.Flow) bool { return f.Kind != ops.Unary || f.Beside > 0 }
