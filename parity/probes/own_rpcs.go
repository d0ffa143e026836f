// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
)

// ownRPCs is a stats handler that writes down the events of RPCs that the channel makes for itself.
type ownRPCs struct {
	mu     sync.Mutex
	events []string
}

type ownMethod struct{}

func (o *ownRPCs) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	o.add(i.FullMethodName, "TagRPC")
	return context.WithValue(ctx, ownMethod{}, i.FullMethodName)
}

func (o *ownRPCs) HandleRPC(ctx context.Context, s stats.RPCStats) {
	method, _ := ctx.Value(ownMethod{}).(string)
	o.add(method, fmt.Sprintf("%T", s))
}

func (o *ownRPCs) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (o *ownRPCs) HandleConn(context.Context, stats.ConnStats)                       {}

func (o *ownRPCs) add(method, event string) {
	if strings.HasPrefix(method, "/probe.") {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, method+" "+event)
}

func (o *ownRPCs) print(p *probe.P) {
	probe.Settle(0)
	o.mu.Lock()
	defer o.mu.Unlock()
	p.Printf("%q", o.events)
}

// ownRPCProbes have a channel make RPCs for itself.
var ownRPCProbes = []probe.Probe{
	{Name: "events of health checks", Run: func(p *probe.P) {
		own := new(ownRPCs)
		cc := healthy(p, ownHealth{watch: func(s healthpb.Health_WatchServer) error {
			say(s, healthpb.HealthCheckResponse_SERVING)
			<-s.Context().Done()
			return nil
		}}, grpc.WithStatsHandler(own), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"x"}}`))
		p.Printf("%s", call(p.Context(), cc))
		own.print(p)
		_ = cc.Close()
		own.print(p)
	}},
	{Name: "events of load reports out of band", Run: func(p *probe.P) {
		own := new(ownRPCs)
		gs := grpc.NewServer()
		gs.RegisterService(rig.Handlers{}.Desc(), nil)
		metrics := &askedMetrics{ServerMetricsProvider: orca.NewServerMetricsRecorder(), asked: make(chan struct{}, 1000)}
		if err := orca.Register(gs, orca.ServiceOptions{ServerMetricsProvider: metrics, MinReportingInterval: 30 * time.Second}); err != nil {
			p.Printf("%v", err)
		}
		l := rig.Listen()
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		cc := channelTo(p, l.Addr().String(), grpc.WithStatsHandler(own),
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"30s"}}]}`))
		p.Printf("%s", call(p.Context(), cc))
		<-metrics.asked
		own.print(p)
		_ = cc.Close()
		own.print(p)
	}},
}

// askedMetrics says when it is asked.
type askedMetrics struct {
	orca.ServerMetricsProvider
	asked chan struct{}
}

func (m *askedMetrics) ServerMetrics() *orca.ServerMetrics {
	m.asked <- struct{}{}
	return m.ServerMetricsProvider.ServerMetrics()
}
