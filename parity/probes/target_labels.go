// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/stats"
)

// targetLabels is a stats handler that records the label grpc.target of metrics.
type targetLabels struct {
	estats.MetricsRecorder
	mu   sync.Mutex
	seen []string
}

func (*targetLabels) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*targetLabels) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*targetLabels) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*targetLabels) HandleConn(context.Context, stats.ConnStats)                       {}

func (l *targetLabels) add(d *estats.MetricDescriptor, labels []string) {
	if i := slices.Index(d.Labels, "grpc.target"); i >= 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, d.Name+" "+labels[i])
	}
}

func (l *targetLabels) RecordInt64Count(h *estats.Int64CountHandle, _ int64, labels ...string) {
	l.add(h.Descriptor(), labels)
}

func (l *targetLabels) RecordInt64UpDownCount(h *estats.Int64UpDownCountHandle, _ int64, labels ...string) {
	l.add(h.Descriptor(), labels)
}

func (l *targetLabels) RecordInt64Gauge(h *estats.Int64GaugeHandle, _ int64, labels ...string) {
	l.add(h.Descriptor(), labels)
}

// targetLabelProbes tell which form of the target metrics have.
var targetLabelProbes = []probe.Probe{{Name: "label grpc.target", Run: func(p *probe.P) {
	addr := server(p)
	for _, prefix := range []string{"", "dns:", "dns:///", "passthrough:", "PASSTHROUGH:///"} {
		l := new(targetLabels)
		cc, err := grpc.NewClient(prefix+addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(l))
		if err != nil {
			p.Printf("%v", err)
			continue
		}
		p.Printf("%s", call(p.Context(), cc))
		_ = cc.Close()
		probe.Settle(0)
		l.mu.Lock()
		slices.Sort(l.seen)
		for _, seen := range slices.Compact(l.seen) {
			p.Printf("%s: %s", prefix, strings.ReplaceAll(seen, addr, "ADDR"))
		}
		l.mu.Unlock()
	}
}}}
