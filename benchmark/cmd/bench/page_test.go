// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/sample"
)

func measurements(rates ...float64) []measured {
	var ms []measured
	for _, r := range rates {
		d := time.Duration(1e9 / r)
		ms = append(ms, measured{
			Rate: r, Calls: uint64(r),
			Client: cost{CPU: d / 2, Allocs: 10, RSS: 6e6 * us(d)}, Server: cost{CPU: d / 2, Allocs: 15, RSS: 8e6 * us(d)},
			Latency: hist.Summary{P50: d, P99: 2 * d, P999: 3 * d},
		})
	}
	return ms
}

func sampleOutcome() outcome {
	ours, theirs := measurements(200_000, 210_000, 190_000), measurements(100_000, 100_000, 100_000)
	o := outcome{Labels: []string{"ours", "published"}, Pairs: 3, Seconds: 1}
	for _, res := range []result{
		{Row: "unary/128B/callers=1/tcp", Kind: ops.Unary, Size: 128, Callers: 1, Want: 2, Floor: measurements(400_000)},
		{Row: "rate/128B/50%/tcp", Kind: ops.Unary, Size: 128, Callers: 64, Share: 0.5},
		{Row: "rate/128B/90%/tcp", Kind: ops.Unary, Size: 128, Callers: 64, Share: 0.9},
	} {
		res.Impls = [][]measured{ours, theirs}
		o.Results = append(o.Results, res)
	}
	return o
}

func TestTables(t *testing.T) {
	var out bytes.Buffer
	sampleOutcome().print(&out)
	for _, want := range []string{
		" 2.00x  [1.90, 2.10]", "200.0 k/s", "400.0 k/s", "2.5+2.5 / 5.0+5.0", "10.0+15.0 / ", " 0.50x", "+2.5 / +7.5 (raw 2.5)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestPageHasWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	pageHas := func(want ...string) {
		t.Helper()
		name, err := writePage(dir)
		if err != nil {
			t.Fatal(err)
		}
		html, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !bytes.Contains(html, []byte(w)) {
				t.Errorf("%q is not in the page", w)
			}
		}
	}
	pageHas("<h1>")
	if err := keep(filepath.Join(dir, ratesFile), sampleOutcome()); err != nil {
		t.Fatal(err)
	}
	pageHas("Latency at fixed rates", "unary/128B/callers=1/tcp", "<svg")
	step := idle.Step{Connections: 10, Server: sample.Memory{RSS: 3 << 10}}
	result := idle.Result{Impl: "ours", Steps: []idle.Step{step}, Slope: step, After: step}
	stored := idleOutcome{Steps: []int{10}, Tables: []idleTable{{Over: "tcp", Message: 128, Results: []idle.Result{result}}}}
	if err := keep(filepath.Join(dir, idleFile), stored); err != nil {
		t.Fatal(err)
	}
	pageHas("Latency at fixed rates", "Idle connections", "3.0 KB")
}
