// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// idleOutcome is all that a run of the idle measurements found, as it is kept.
type idleOutcome struct {
	Machine machine
	Steps   []int
	Watch   bool
	Streams int `json:",omitempty"` // on each connection, not 0: what is shown is the cost of one
	Stall   int `json:",omitempty"`
	Tables  []idleTable
}

// idleTable is what was measured over one kind of link with one size of message.
type idleTable struct {
	Over    string
	Message int
	Streams int `json:",omitempty"`
	Results []idle.Result
}

// print prints one table: a line for each step, side and implementation.
func (t idleTable) print(w io.Writer) {
	what := "connection"
	if t.Streams > 0 {
		what = fmt.Sprintf("of %d streams on each connection", t.Streams)
	}
	fmt.Fprintf(w, "\nIDLE over %s, after a message of %s each way; for one %s\n", t.Over, size(t.Message), what)
	fmt.Fprintf(w, "%-8s %-18s %-12s %10s %10s %10s %11s %8s\n",
		"side", "", "connections", "RSS", "heap", "stack", "goroutines", "files")
	t.printSide(w, "server", func(s idle.Step) sample.Memory { return s.Server })
	t.printSide(w, "client", func(s idle.Step) sample.Memory { return s.Client })
	for _, r := range t.Results {
		fmt.Fprintf(w, "%s: all %d connections answered again, one after the other: p50 %v, p99 %v, max %v; processor time while idle: server %v, client %v\n",
			filepath.Base(r.Impl), r.Again.Calls, round(r.Again.Latency.P50), round(r.Again.Latency.P99), round(r.Again.Latency.Max),
			round(r.ServerCPU), round(r.ClientCPU))
	}
}

func (t idleTable) printSide(w io.Writer, side string, of func(idle.Step) sample.Memory) {
	for _, r := range t.Results {
		line := func(what string, s idle.Step) {
			m := of(s)
			fmt.Fprintf(w, "%-8s %-18s %-12s %10s %10s %10s %11.2f %8.2f\n", side, filepath.Base(r.Impl), what,
				chart.Bytes(m.RSS), chart.Bytes(m.Heap), chart.Bytes(m.Stack), m.Goroutines, m.Files)
		}
		for _, step := range r.Steps {
			line(strconv.Itoa(step.Connections), step)
		}
		if len(r.Steps) > 1 {
			line("slope", r.Slope)
		}
		line("idle again", r.After)
	}
}

// chart draws the slopes.
func (o idleOutcome) chart() chart.Chart {
	what := fmt.Sprintf("RSS for each of %d connections", o.Steps[0])
	if n := len(o.Steps); n > 1 {
		what = fmt.Sprintf("RSS of one more connection, between %d and %d of them", o.Steps[0], o.Steps[n-1])
	}
	switch {
	case o.Watch && o.Streams > 0:
		what += fmt.Sprintf(", by stream, with %d on each", o.Streams)
	case o.Watch:
		what += ", each with an open stream"
	}
	if o.Stall > 0 {
		what += fmt.Sprintf(", with a stream of %s messages that nobody reads", size(o.Stall))
	}
	c := chart.Chart{Title: "What an idle gRPC connection costs", Subtitle: what, Format: chart.Bytes}
	for _, t := range o.Tables {
		over := fmt.Sprintf("%s, after %s", t.Over, size(t.Message))
		server, client := chart.Panel{Title: "Server, " + over}, chart.Panel{Title: "Client, " + over}
		for _, r := range t.Results {
			server.Bars = append(server.Bars, idleBar(r.Impl, r.Slope.Server))
			client.Bars = append(client.Bars, idleBar(r.Impl, r.Slope.Client))
		}
		c.Panels = append(c.Panels, server, client)
	}
	return c
}

func idleBar(impl string, m sample.Memory) chart.Bar {
	return chart.Bar{
		Label:  workers.Label(impl),
		Value:  m.RSS,
		Strong: impl == workers.Ours,
		Note:   fmt.Sprintf("heap %s, stack %s, goroutines %.1f", chart.Bytes(m.Heap), chart.Bytes(m.Stack), m.Goroutines),
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
