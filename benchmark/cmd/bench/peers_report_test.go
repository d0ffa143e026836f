// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/grpc/benchmark/internal/idle"
	"google.golang.org/grpc/benchmark/internal/sample"
)

func samplePeers() peersOutcome {
	o := peersOutcome{Pairs: 3, Seconds: 1, Skipped: map[string]string{"grpc++": "this machine has no g++"}}
	first, second := sampleOutcome(), sampleOutcome()
	first.Labels, second.Labels = []string{"ours", "connect-go"}, []string{"ours", "tonic"}
	second.Results = second.Results[:1] // it failed then
	o.Beside = []outcome{first, second}
	result := func(impl string, rss float64) idle.Result {
		return idle.Result{Impl: impl, Slope: idle.Step{Server: sample.Memory{RSS: rss}, Client: sample.Memory{RSS: 2 * rss}}}
	}
	o.Idle = []idleTable{{Over: "tls", Results: []idle.Result{result("ours", 3<<10), result("tonic", 30<<10)}}}
	return o
}

func TestPeersTable(t *testing.T) {
	var out bytes.Buffer
	samplePeers().print(&out)
	for _, want := range []string{
		"connect-go", "200.0 k/s    100.0 k/s   2.00x  [1.90, 2.10]", "2.5+2.5 / 5.0+5.0", "tonic",
		"p99 us", "5 / 10", "10 / 20", "30.0+40.0 / 60.0+80.0", "0.50x",
		"CONNECTION, tls", "3.0 KB    1.0x        6.0 KB    1.0x", "30.0 KB   10.0x",
		"grpc++ was skipped: this machine has no g++",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "tonic"); n != 3 {
		t.Errorf("tonic has one row, in two tables, and one line of idle connections; it is named %d times in\n%s", n, out.String())
	}
}

func TestPeersCharts(t *testing.T) {
	o := samplePeers()
	rates := o.ratesChart()
	if len(rates.Panels) != 3 {
		t.Fatalf("%d panels for 3 rows", len(rates.Panels))
	}
	first := rates.Panels[0].Bars
	if len(first) != 3 || !first[0].Strong || first[0].Value != 1 || first[1].Value != 0.5 || first[1].Label != "connect-go" {
		t.Errorf("the bars of the first row are %+v", first)
	}
	if n := len(rates.Panels[1].Bars); n != 2 {
		t.Errorf("%d bars of a row that one peer has", n)
	}
	idle := o.idleChart()
	if len(idle.Panels) != 2 || idle.Panels[1].Title != "Client, TLS" || idle.Panels[1].Bars[1].Value != 60<<10 {
		t.Errorf("the panels of idle connections are %+v", idle.Panels)
	}
}
