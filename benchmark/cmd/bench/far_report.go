// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/benchmark/internal/workers"
)

// farFile keeps what was measured.
const farFile = "far.json"

func (o farOutcome) printHeader(w io.Writer) {
	fmt.Fprintf(w, "\n%v\nOver TUN devices between two network namespaces; each measurement over a path and in processes of its own.\n"+
		"Streams: MB/s, median of the second half, and after how long 0.9 of what bare TCP (raw) is steady at was reached.\n"+
		"Calls, in round trips: the first on a connection that stands, and later ones. Many callers: calls a second, latencies in round trips.\n"+
		"Medians of %d runs. Ratios of the first implementation: to raw, and to the last.\n\n",
		o.Machine, o.Runs)
	fmt.Fprintf(w, "%-16s %-36s", "ROW", "path")
	for _, label := range o.Labels {
		fmt.Fprintf(w, " %-24s", filepath.Base(label))
	}
	fmt.Fprintf(w, " %6s %6s\n", "/raw", "/"+filepath.Base(o.Labels[len(o.Labels)-1]))
}

// print prints a row in a cell.
func (o farOutcome) print(w io.Writer, res farResult) {
	fmt.Fprintf(w, "%-16s %-36v", res.Row, res.Cell)
	for i := range res.Impls {
		fmt.Fprintf(w, " %-24s", res.text(i))
	}
	for _, beside := range []int{0, len(o.Labels) - 1} {
		fmt.Fprintf(w, " %6.2f", res.ratio(1, beside))
	}
	fmt.Fprintln(w)
}

// text is what is printed of one implementation.
func (r farResult) text(i int) string {
	m := r.measured(i)
	var parts []string
	if m.Steady > 0 || len(m.Rates) > 0 {
		text := fmt.Sprintf("%.2f MB/s, never", m.Steady/1e6)
		if after, ok := r.ramp(i); ok {
			text = fmt.Sprintf("%.2f MB/s, %.1f s", m.Steady/1e6, after.Seconds())
		}
		parts = append(parts, text)
	}
	if m.CallsASecond > 0 {
		parts = append(parts, fmt.Sprintf("%.0f/s p50 %.1f p99 %.1f", m.CallsASecond, r.trips(m.P50), r.trips(m.P99)))
	}
	if m.Warm > 0 {
		parts = append(parts, fmt.Sprintf("%.1f, then %.2f", r.trips(m.First), r.trips(m.Warm)))
	}
	return strings.Join(parts, "; ")
}

// trips are how many round trips d is.
func (r farResult) trips(d time.Duration) float64 {
	return float64(d) / float64(r.Cell.RoundTrip)
}

// ramp is when an implementation has 0.9 of the rate at which bare TCP is steady.
func (r farResult) ramp(i int) (time.Duration, bool) {
	return reached(r.measured(i).Rates, 0.9*r.measured(0).Steady)
}

// ratio is what the row is about, of one to another: more is better.
func (r farResult) ratio(i, beside int) float64 {
	return r.measured(i).worth() / r.measured(beside).worth()
}

// save keeps what was measured, and draws it.
func (o farOutcome) save(w io.Writer) error {
	dir, err := workers.OutDir()
	if err != nil {
		return err
	}
	file, picture := filepath.Join(dir, farFile), filepath.Join(dir, "far.svg")
	if err := keep(file, o); err != nil {
		return err
	}
	if err := o.draw(picture); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nEvery measurement: %s\nPicture: %s\n", file, picture)
	return nil
}
