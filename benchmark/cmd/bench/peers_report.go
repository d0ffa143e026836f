// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/stat"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// peersOutcome is all that `bench peers` measured, as it is kept.
type peersOutcome struct {
	Machine machine
	Pairs   int
	Seconds float64
	Others  float64
	Beside  []outcome   // one for each peer, this module first in it
	Idle    []idleTable // this module first in each
	// Skipped says of a peer why it was not measured, or not to the end.
	Skipped map[string]string `json:",omitempty"`
}

// print prints the tables of all peers.
func (o peersOutcome) print(w io.Writer) {
	fmt.Fprintf(w, "\n%v\n%d pairs of %.1f s for each row and peer, client and server of each its own. Ratio: this module's rate to\n"+
		"the peer's, and where the true one lies with %.0f %% confidence; ~ where that includes no difference.\n\n",
		o.Machine, o.Pairs, o.Seconds, 100*stat.Of(make([]float64, o.Pairs)).Confidence)
	fmt.Fprintf(w, "%-*s %12s %12s %7s  %-16s %s\n", nameWidth, "RATE", "ours", "peer", "ratio", "", "CPU us, client+server, ours / peer")
	for _, name := range o.rowNames() {
		fmt.Fprintln(w, name)
		for _, beside := range o.Beside {
			if res, ok := beside.row(name); ok {
				ours, theirs := res.Impls[0], res.Impls[1]
				fmt.Fprintf(w, "  %-*s %12s %12s %s %s\n", nameWidth-2, beside.Labels[1],
					rate(res, stat.Median(rates(ours))), rate(res, stat.Median(rates(theirs))),
					ratio(stat.Of(stat.Ratios(rates(ours), rates(theirs)))), beside.cpu(ours, theirs))
			}
		}
	}
	o.printBusy(w)
	for _, t := range o.Idle {
		o.printIdle(w, t)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Skipped)) {
		fmt.Fprintf(w, "\n%s was skipped: %s\n", name, o.Skipped[name])
	}
	outcome{Others: o.Others}.printOthers(w)
}

// printBusy prints how long calls or messages took, and what the processes held with their garbage.
func (o peersOutcome) printBusy(w io.Writer) {
	fmt.Fprintf(w, "\n%-*s %-17s %-19s %-29s %s\n", nameWidth, "OURS / PEER", "p50 us", "p99 us", "RSS MB, client+server", "RSS of both")
	for _, name := range o.rowNames() {
		fmt.Fprintln(w, name)
		for _, beside := range o.Beside {
			if res, ok := beside.row(name); ok {
				ours, theirs := res.Impls[0], res.Impls[1]
				fmt.Fprintf(w, "  %-*s %-17s %-19s %-29s %s\n", nameWidth-2, beside.Labels[1],
					both(ours, theirs, "%.0f", func(m measured) float64 { return us(m.Latency.P50) }),
					both(ours, theirs, "%.0f", func(m measured) float64 { return us(m.Latency.P99) }),
					sides(ours, theirs, "%.1f", func(c cost) float64 { return c.RSS / 1e6 }),
					ratio(stat.Of(stat.Ratios(column(ours, totalRSS), column(theirs, totalRSS)))))
			}
		}
	}
}

// printIdle prints what one more connection costs each of them, and its ratio to ours.
func (o peersOutcome) printIdle(w io.Writer, t idleTable) {
	fmt.Fprintf(w, "\n%-*s %12s %7s  %12s %7s\n", nameWidth, "RSS OF AN IDLE CONNECTION, "+t.Over, "server", "", "client", "")
	for _, r := range t.Results {
		fmt.Fprintf(w, "  %-*s %12s %6.1fx  %12s %6.1fx\n", nameWidth-2, r.Impl,
			chart.Bytes(r.Slope.Server.RSS), r.Slope.Server.RSS/t.Results[0].Slope.Server.RSS,
			chart.Bytes(r.Slope.Client.RSS), r.Slope.Client.RSS/t.Results[0].Slope.Client.RSS)
	}
}

// rowNames are those of all rows that were measured, in order.
func (o peersOutcome) rowNames() []string {
	var names []string
	for _, beside := range o.Beside {
		for _, res := range beside.Results {
			if !slices.Contains(names, res.Row) {
				names = append(names, res.Row)
			}
		}
	}
	return names
}

// row finds a row's result.
func (o outcome) row(name string) (result, bool) {
	i := slices.IndexFunc(o.Results, func(r result) bool { return r.Row == name })
	if i < 0 {
		return result{}, false
	}
	return o.Results[i], true
}

// ratesChart draws the rate of each peer as a share of this module's.
func (o peersOutcome) ratesChart() chart.Chart {
	c := chart.Chart{
		Title:    "Calls and messages a second, as a share of this module's",
		Subtitle: fmt.Sprintf("Client and server each of its own kind; median of %d pairs. %v", o.Pairs, o.Machine),
		Format:   func(v float64) string { return fmt.Sprintf("%.2f", v) },
	}
	for _, name := range o.rowNames() {
		panel := chart.Panel{Title: name, Bars: []chart.Bar{{Label: workers.Label(workers.Ours), Value: 1, Strong: true}}}
		var all []float64
		for _, beside := range o.Beside {
			res, ok := beside.row(name)
			if !ok {
				continue
			}
			ours, theirs := rates(res.Impls[0]), rates(res.Impls[1])
			all = append(all, ours...)
			share := stat.Of(stat.Ratios(theirs, ours))
			panel.Bars = append(panel.Bars, chart.Bar{
				Label: workers.Label(beside.Labels[1]), Value: share.Median,
				Note: fmt.Sprintf("[%.2f, %.2f]  %s", share.Low, share.High, rate(res, stat.Median(theirs))),
			})
			panel.Bars[0].Note = rate(res, stat.Median(all))
		}
		c.Panels = append(c.Panels, panel)
	}
	return c
}

// idleChart draws what one more idle connection costs each.
func (o peersOutcome) idleChart() chart.Chart {
	c := chart.Chart{Title: "Memory of one idle connection", Subtitle: "RSS. " + o.Machine.String(), Format: chart.Bytes}
	for _, t := range o.Idle {
		for _, side := range []struct {
			name string
			of   func(idle.Step) sample.Memory
		}{
			{"Server", func(s idle.Step) sample.Memory { return s.Server }},
			{"Client", func(s idle.Step) sample.Memory { return s.Client }},
		} {
			panel := chart.Panel{Title: side.name + ", " + strings.ToUpper(t.Over)}
			for _, r := range t.Results {
				panel.Bars = append(panel.Bars, chart.Bar{
					Label: workers.Label(r.Impl), Value: side.of(r.Slope).RSS, Strong: r.Impl == workers.Ours,
				})
			}
			c.Panels = append(c.Panels, panel)
		}
	}
	return c
}

// save keeps the results, and draws the pictures.
func (o peersOutcome) save(w io.Writer) error {
	dir, err := workers.OutDir()
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	for name, c := range map[string]chart.Chart{"peers.svg": o.ratesChart(), "peers-idle.svg": o.idleChart()} {
		if len(c.Panels) == 0 {
			continue
		}
		name = filepath.Join(dir, name)
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		if err := errors.Join(c.SVG(f), f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(w, "Chart: %s\n", name)
	}
	return keep(filepath.Join(dir, "peers.json"), o)
}
