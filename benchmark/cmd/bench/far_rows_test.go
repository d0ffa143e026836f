// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
)

func TestChooseFar(t *testing.T) {
	for pattern, want := range map[string]int{"": len(farRows()), "^call/": 3, "^(down|up)$": 2, "callers": 2} {
		if got, err := chooseFar(pattern); err != nil || len(got) != want {
			t.Errorf("%q: %d rows, %v; want %d", pattern, len(got), err, want)
		}
	}
	for _, pattern := range []string{"nothing", "("} {
		if got, err := chooseFar(pattern); err == nil {
			t.Errorf("%q: %d rows", pattern, len(got))
		}
	}
}

func TestFarRowsOverAPath(t *testing.T) {
	const calls, lasts = 7, 4 * time.Second
	slow := cell{RoundTrip: 20 * time.Millisecond, Rate: 1e6}
	fast := cell{RoundTrip: 20 * time.Millisecond}
	for _, r := range farRows() {
		f := r.over(slow, calls, lasts)
		switch {
		case f.Calls > 0:
			if f.Calls != calls || f.For != 0 {
				t.Errorf("%s: %d calls for %v", r.name, f.Calls, f.For)
			}
		case f.For != lasts:
			t.Errorf("%s lasts %v", r.name, f.For)
		}
		if size, more := max(f.Size, f.Beside), r.over(fast, calls, lasts); size <= 0 || overTime(f) && size >= max(more.Size, more.Beside) {
			t.Errorf("%s: messages of %d bytes", r.name, size)
		}
	}
	if overTime(ops.Flow{Kind: ops.Unary}) || !overTime(ops.Flow{Kind: ops.Unary, Beside: 1}) {
		t.Error("calls have a rate over time, or what goes on beside them has none")
	}
}
