// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/stat"
)

// nameWidth is how wide the column of rows is.
const nameWidth = 36

// print prints all tables.
func (o outcome) print(w io.Writer) {
	o.printHeader(w)
	for _, res := range o.Results {
		o.printRate(w, res)
	}
	o.printCosts(w)
	o.printMemory(w)
	o.printLatencies(w)
	o.printOthers(w)
}

func (o outcome) printHeader(w io.Writer) {
	fmt.Fprintf(w, "%d measurements of %.1f s for each row and implementation, in turn. Ratio: median of the pairs' ratios, and where\n"+
		"the true one lies with %.0f %% confidence; ~ where that includes no difference.\n\n",
		o.Pairs, o.Seconds, 100*stat.Of(make([]float64, o.Pairs)).Confidence)
	fmt.Fprintf(w, "%-*s %12s %12s %7s  %-14s %6s %14s\n", nameWidth, "RATE",
		o.Labels[0], o.Labels[o.base()], "ratio", "", "aim", "without gRPC")
}

// printRate prints a row's line, and one more for each implementation beyond two.
func (o outcome) printRate(w io.Writer, res result) {
	base := rates(res.Impls[o.base()])
	for i := range o.base() {
		mine := rates(res.Impls[i])
		fmt.Fprintf(w, "%-*s %12s %12s %s %6s %14s\n", nameWidth, o.lineName(res, i),
			rate(res, stat.Median(mine)), rate(res, stat.Median(base)),
			ratio(stat.Of(stat.Ratios(mine, base))), aim(res.Want),
			rate(res, stat.Median(rates(res.Floor))))
	}
	if exact := stat.Median(rates(res.Floor)); res.Exact && exact > 0 {
		fmt.Fprintf(w, "  %.2fx of the exact socket, which stands in the last column\n", stat.Median(rates(res.Impls[0]))/exact)
	}
}

// lineName is the row's name, and below that the names of implementations.
func (o outcome) lineName(res result, impl int) string {
	if impl > 0 {
		return "  " + o.Labels[impl]
	}
	return res.Row
}

// printCosts prints what one call or message takes of both processes together.
func (o outcome) printCosts(w io.Writer) {
	fmt.Fprintf(w, "\n%-*s %-47s %-27s %-27s %-15s %s\n", nameWidth, "ONE CALL OR MESSAGE, client+server",
		"CPU us", "allocations", "bytes", "collections/s", "CPU without gRPC")
	for _, res := range o.Results {
		base := res.Impls[o.base()]
		for i := range o.base() {
			mine := res.Impls[i]
			fmt.Fprintf(w, "%-*s %s %-27s %-27s %-15s %s\n", nameWidth, o.lineName(res, i),
				o.cpu(mine, base),
				sides(mine, base, "%.1f", func(c cost) float64 { return c.Allocs }),
				sides(mine, base, "%.0f", func(c cost) float64 { return c.AllocBytes }),
				both(mine, base, "%.1f", func(m measured) float64 { return m.Collections }),
				rawCPU(res.Floor))
		}
	}
}

// printMemory prints what the processes take while they are busy.
func (o outcome) printMemory(w io.Writer) {
	fmt.Fprintf(w, "\n%-*s %-27s %-27s %s\n", nameWidth, "RSS WHILE BUSY, MB", "client", "server", "both")
	for _, res := range o.Results {
		base := res.Impls[o.base()]
		for i := range o.base() {
			mine := res.Impls[i]
			fmt.Fprintf(w, "%-*s %-27s %-27s %s\n", nameWidth, o.lineName(res, i),
				both(mine, base, "%.1f", func(m measured) float64 { return m.Client.RSS / 1e6 }),
				both(mine, base, "%.1f", func(m measured) float64 { return m.Server.RSS / 1e6 }),
				ratio(stat.Of(stat.Ratios(column(mine, totalRSS), column(base, totalRSS)))))
		}
	}
}

func totalRSS(m measured) float64 { return m.Client.RSS + m.Server.RSS }

// cpu is the processor time of both and its ratio.
func (o outcome) cpu(mine, base []measured) string {
	r := stat.Of(stat.Ratios(column(mine, totalCPU), column(base, totalCPU)))
	micros := func(c cost) float64 { return us(c.CPU) }
	return fmt.Sprintf("%-25s %s", sides(mine, base, "%.1f", micros), ratio(r))
}

// rawCPU is what the same takes without gRPC, client and server.
func rawCPU(floor []measured) string {
	if len(floor) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f+%.1f",
		stat.Median(column(floor, func(m measured) float64 { return us(m.Client.CPU) })),
		stat.Median(column(floor, func(m measured) float64 { return us(m.Server.CPU) })))
}

// printLatencies prints how long calls took. For rows at a fixed rate that counts from
// when a call should have begun.
func (o outcome) printLatencies(w io.Writer) {
	fmt.Fprintf(w, "\n%-*s %-19s %-19s %-19s %s\n", nameWidth, "LATENCY us",
		"p50", "p99", "p99.9", "above raw p50")
	for _, res := range o.Results {
		base := res.Impls[o.base()]
		for i := range o.base() {
			mine := res.Impls[i]
			fmt.Fprintf(w, "%-*s %-19s %-19s %-19s %s\n", nameWidth, o.lineName(res, i),
				both(mine, base, "%.0f", func(m measured) float64 { return us(m.Latency.P50) }),
				both(mine, base, "%.0f", func(m measured) float64 { return us(m.Latency.P99) }),
				both(mine, base, "%.0f", func(m measured) float64 { return us(m.Latency.P999) }),
				aboveRaw(res, mine, base))
		}
	}
}

// quietEnough is what others may use of a machine before it is worth a word.
const quietEnough = 0.05

func (o outcome) printOthers(w io.Writer) {
	if o.Others > quietEnough {
		fmt.Fprintf(w, "\nOther programs used %.0f %% of the machine meanwhile: rates and latencies are worse than they could be, and less sure.\n",
			100*o.Others)
	}
}

// aboveRaw is by how much one caller waits longer than for raw bytes.
func aboveRaw(res result, mine, base []measured) string {
	if len(res.Floor) == 0 || res.Callers != 1 || res.Floor[0].Latency.P50 == 0 {
		return ""
	}
	p50 := func(m measured) float64 { return us(m.Latency.P50) }
	raw := stat.Median(column(res.Floor, p50))
	return fmt.Sprintf("%+.1f / %+.1f (raw %.1f)",
		stat.Median(column(mine, p50))-raw, stat.Median(column(base, p50))-raw, raw)
}

// both prints the medians of one column, ours first.
func both(mine, base []measured, format string, of func(measured) float64) string {
	return fmt.Sprintf(format+" / "+format, stat.Median(column(mine, of)), stat.Median(column(base, of)))
}

// sides prints the medians of a cost's client and server part, ours first.
func sides(mine, base []measured, format string, of func(cost) float64) string {
	client := func(m measured) float64 { return of(m.Client) }
	server := func(m measured) float64 { return of(m.Server) }
	format += "+" + format
	return fmt.Sprintf(format+" / "+format,
		stat.Median(column(mine, client)), stat.Median(column(mine, server)),
		stat.Median(column(base, client)), stat.Median(column(base, server)))
}

func totalCPU(m measured) float64 { return us(m.total().CPU) }

func ratio(i stat.Interval) string {
	mark := " "
	if i.Holds(1) {
		mark = "~"
	}
	return fmt.Sprintf("%s%5.2fx  [%.2f, %.2f]  ", mark, i.Median, i.Low, i.High)
}

func aim(want float64) string {
	if want == 0 {
		return ""
	}
	return fmt.Sprintf("%.2fx", want)
}

// rate writes calls a second, or bytes a second where messages are large.
func rate(r result, perSecond float64) string {
	switch {
	case perSecond != perSecond:
		return "" // there was no such measurement
	case r.Kind != ops.Unary && r.Size >= 1<<20:
		return fmt.Sprintf("%.2f GB/s", perSecond*float64(r.Size)/1e9)
	case perSecond >= 1000:
		return fmt.Sprintf("%.1f k/s", perSecond/1000)
	default:
		return fmt.Sprintf("%.0f /s", perSecond)
	}
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
