// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// recordings are what handlers may say of a call's load.
var recordings = []struct {
	name   string
	record func(orca.CallMetricsRecorder)
}{
	{"nothing", func(orca.CallMetricsRecorder) {}},
	{"cpu", func(r orca.CallMetricsRecorder) { r.SetCPUUtilization(0.5) }},
	{"cpu over 1", func(r orca.CallMetricsRecorder) { r.SetCPUUtilization(1.5) }},
	{"cpu negative", func(r orca.CallMetricsRecorder) { r.SetCPUUtilization(-1) }},
	{"cpu 0", func(r orca.CallMetricsRecorder) { r.SetCPUUtilization(0) }},
	{"cpu NaN", func(r orca.CallMetricsRecorder) { r.SetCPUUtilization(math.NaN()) }},
	{"memory", func(r orca.CallMetricsRecorder) { r.SetMemoryUtilization(0.5) }},
	{"memory over 1", func(r orca.CallMetricsRecorder) { r.SetMemoryUtilization(1.5) }},
	{"application", func(r orca.CallMetricsRecorder) { r.SetApplicationUtilization(2) }},
	{"application negative", func(r orca.CallMetricsRecorder) { r.SetApplicationUtilization(-2) }},
	{"qps", func(r orca.CallMetricsRecorder) { r.SetQPS(100) }},
	{"qps negative", func(r orca.CallMetricsRecorder) { r.SetQPS(-1) }},
	{"eps", func(r orca.CallMetricsRecorder) { r.SetEPS(3) }},
	{"eps negative", func(r orca.CallMetricsRecorder) { r.SetEPS(-3) }},
	{"cost", func(r orca.CallMetricsRecorder) { r.SetRequestCost("a", 1.5) }},
	{"utilization", func(r orca.CallMetricsRecorder) { r.SetNamedUtilization("u", 0.25) }},
	{"utilization over 1", func(r orca.CallMetricsRecorder) { r.SetNamedUtilization("u", 1.25) }},
	{"utilization negative", func(r orca.CallMetricsRecorder) { r.SetNamedUtilization("u", -1) }},
	{"named metric", func(r orca.CallMetricsRecorder) { r.SetNamedMetric("n", -7) }},
	{"deleted", func(r orca.CallMetricsRecorder) {
		r.SetCPUUtilization(0.5)
		r.SetMemoryUtilization(0.5)
		r.SetApplicationUtilization(0.5)
		r.SetQPS(1)
		r.SetEPS(1)
		r.SetRequestCost("a", 1)
		r.SetNamedMetric("b", 1)
		r.SetNamedUtilization("c", 1)
		r.DeleteCPUUtilization()
		r.DeleteMemoryUtilization()
		r.DeleteApplicationUtilization()
		r.DeleteQPS()
		r.DeleteEPS()
		r.DeleteRequestCost("a")
		r.DeleteNamedMetric("b")
		r.DeleteNamedUtilization("c")
		r.DeleteRequestCost("never")
	}},
	{"overwritten", func(r orca.CallMetricsRecorder) {
		r.SetCPUUtilization(0.5)
		r.SetCPUUtilization(0.25)
		r.SetCPUUtilization(-1)
		r.SetNamedUtilization("a", 0.5)
		r.SetNamedUtilization("a", 2)
	}},
	{"all", func(r orca.CallMetricsRecorder) {
		r.SetCPUUtilization(1)
		r.SetMemoryUtilization(0.75)
		r.SetApplicationUtilization(3)
		r.SetQPS(4)
		r.SetEPS(5)
		r.SetRequestCost("x", 6)
		r.SetNamedMetric("y", 7)
		r.SetNamedUtilization("z", 0.5)
	}},
}

func metricsText(m *orca.ServerMetrics) string {
	if m == nil {
		return "nil"
	}
	return fmt.Sprintf("cpu=%v mem=%v app=%v qps=%v eps=%v util=%v cost=%v named=%v nil=%v,%v,%v", m.CPUUtilization, m.MemUtilization, m.AppUtilization, m.QPS, m.EPS,
		m.Utilization, m.RequestCost, m.NamedMetrics, m.Utilization == nil, m.RequestCost == nil, m.NamedMetrics == nil)
}

const loadKey = "endpoint-load-metrics-bin"

// reportOf formats what a trailer holds of a load report.
func reportOf(md metadata.MD) string {
	v := md[loadKey]
	if len(v) != 1 {
		return fmt.Sprintf("%d reports", len(v))
	}
	r := new(orcapb.OrcaLoadReport)
	if err := proto.Unmarshal([]byte(v[0]), r); err != nil {
		return "garbage"
	}
	return fmt.Sprintf("cpu=%v mem=%v app=%v rps=%v eps=%v util=%v cost=%v named=%v", r.GetCpuUtilization(), r.GetMemUtilization(), r.GetApplicationUtilization(),
		r.GetRpsFractional(), r.GetEps(), r.GetUtilization(), r.GetRequestCost(), r.GetNamedMetrics())
}

func loadReportProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range recordings {
		out = append(out, probe.Probe{Name: "orca/call says " + c.name, Run: func(p *probe.P) {
			shared := orca.NewServerMetricsRecorder()
			shared.SetQPS(11)
			shared.SetNamedUtilization("shared", 0.5)
			for _, provider := range []orca.ServerMetricsProvider{nil, shared} {
				h := rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
					c.record(orca.CallMetricsRecorderFromContext(ctx))
					return m, nil
				}, Stream: func(s grpc.ServerStream) error {
					c.record(orca.CallMetricsRecorderFromContext(s.Context()))
					return status.Error(codes.Aborted, "failed")
				}}
				s := rig.Pair{Handlers: h, Server: []grpc.ServerOption{orca.CallMetricsServerOption(provider)}}.Start(p)
				var trailer metadata.MD
				p.Printf("%s", call(p.Context(), s, grpc.Trailer(&trailer)))
				p.Printf("%s", reportOf(trailer))
				stream := bidi(p, s)
				_ = stream.RecvMsg(new(rig.Msg))
				p.Printf("%s", reportOf(stream.Trailer()))
			}
		}})
	}
	return append(out, otherLoadProbes...)
}

var otherLoadProbes = []probe.Probe{
	{Name: "orca/no option", Run: func(p *probe.P) {
		p.Printf("%v", orca.CallMetricsRecorderFromContext(context.Background()) == nil)
		s := rig.Pair{Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			p.Printf("%v", orca.CallMetricsRecorderFromContext(ctx) == nil)
			return m, nil
		}}}.Start(p)
		var trailer metadata.MD
		p.Printf("%s", call(p.Context(), s, grpc.Trailer(&trailer)))
		p.Printf("%s", rig.MD(trailer))
	}},
	{Name: "orca/recorder of a server", Run: func(p *probe.P) {
		r := orca.NewServerMetricsRecorder()
		p.Printf("%s", metricsText(r.ServerMetrics()))
		r.SetCPUUtilization(0.5)
		r.SetMemoryUtilization(2)
		r.SetApplicationUtilization(-1)
		r.SetQPS(5)
		r.SetEPS(6)
		r.SetNamedUtilization("a", 0.5)
		r.SetNamedUtilization("b", 5)
		before := r.ServerMetrics()
		p.Printf("%s", metricsText(before))
		r.DeleteCPUUtilization()
		r.DeleteQPS()
		r.DeleteEPS()
		r.DeleteMemoryUtilization()
		r.DeleteApplicationUtilization()
		r.DeleteNamedUtilization("a")
		r.DeleteNamedUtilization("never")
		p.Printf("%s", metricsText(r.ServerMetrics()))
		p.Printf("%s", metricsText(before))
	}},
	{Name: "orca/recorder of a call", Run: func(p *probe.P) {
		s := rig.Pair{Server: []grpc.ServerOption{orca.CallMetricsServerOption(nil)}, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			r := orca.CallMetricsRecorderFromContext(ctx)
			p.Printf("%s", metricsText(r.ServerMetrics()))
			r.SetRequestCost("a", 1)
			p.Printf("%s", metricsText(r.ServerMetrics()))
			return m, nil
		}}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "orca/service options", Run: func(p *probe.P) {
		for _, o := range []orca.ServiceOptions{
			{},
			{ServerMetricsProvider: orca.NewServerMetricsRecorder()},
			{ServerMetricsProvider: orca.NewServerMetricsRecorder(), MinReportingInterval: time.Second},
			{ServerMetricsProvider: orca.NewServerMetricsRecorder(), MinReportingInterval: -1},
		} {
			_, err := orca.NewService(o)
			p.Printf("%s", rig.Err(err))
			p.Printf("%s", rig.Err(orca.Register(grpc.NewServer(), o)))
		}
	}},
	{Name: "orca/out of band", Run: func(p *probe.P) {
		r := orca.NewServerMetricsRecorder()
		r.SetCPUUtilization(0.5)
		r.SetNamedUtilization("a", 0.25)
		gs := grpc.NewServer()
		p.Printf("%s", rig.Err(orca.Register(gs, orca.ServiceOptions{ServerMetricsProvider: r})))
		l := rig.Listen()
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		c := orcaservice.NewOpenRcaServiceClient(channelTo(p, l.Addr().String()))
		for _, d := range []*durationpb.Duration{nil, durationpb.New(0), durationpb.New(time.Hour), durationpb.New(-1), {Seconds: 1, Nanos: -1}, {Nanos: math.MaxInt32}} {
			ctx, cancel := context.WithCancel(p.Context())
			s, err := c.StreamCoreMetrics(ctx, &orcaservice.OrcaLoadReportRequest{ReportInterval: d})
			p.Printf("%s", rig.Err(err))
			m, err := s.Recv()
			p.Printf("cpu=%v util=%v %s", m.GetCpuUtilization(), m.GetUtilization(), rig.Err(err))
			cancel()
		}
	}},
	{Name: "orca/what a balancer is told", Run: func(p *probe.P) {
		valid, _ := proto.Marshal(&orcapb.OrcaLoadReport{CpuUtilization: 0.5, RequestCost: map[string]float64{"a": 1}})
		for _, trailer := range []metadata.MD{
			nil, metadata.Pairs(loadKey, string(valid)), metadata.Pairs(loadKey, "garbage\xff"), metadata.Pairs(loadKey, ""),
			metadata.Pairs(loadKey, string(valid), loadKey, string(valid)), metadata.Pairs("endpoint-load-metrics", "x"),
		} {
			p.Printf("%d", len(trailer))
			s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				_ = grpc.SetTrailer(ctx, trailer)
				return m, nil
			}}}.Serve(p)
			told := make(chan string, 1)
			opt := withBalancer(p, func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
				return &oneSubConn{cc: cc, pick: func(sc balancer.SubConn) (balancer.PickResult, error) {
					return balancer.PickResult{SubConn: sc, Done: func(i balancer.DoneInfo) {
						r, is := i.ServerLoad.(*orcapb.OrcaLoadReport)
						told <- fmt.Sprintf("%T %v cpu=%v cost=%v", i.ServerLoad, is, r.GetCpuUtilization(), r.GetRequestCost())
					}}, nil
				}}
			})
			cc, r := manualChannel(p, opt)
			r.InitialState(addresses(s.Listener.Addr().String()))
			p.Printf("%s", call(p.Context(), cc))
			p.Printf("%s", <-told)
		}
	}},
	{Name: "orca/out of band to a balancer", Run: func(p *probe.P) {
		r := orca.NewServerMetricsRecorder()
		r.SetCPUUtilization(0.5)
		gs := grpc.NewServer()
		_ = orca.Register(gs, orca.ServiceOptions{ServerMetricsProvider: r})
		l := rig.Listen()
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		for _, addr := range []string{l.Addr().String(), server(p)} {
			j := &journal{}
			withSubConn(p, func(cc balancer.ClientConn) {
				sc, _ := cc.NewSubConn(addresses(addr).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
					j.add("%v", s.ConnectivityState)
				}})
				sc.Connect()
				j.wait(p, 2)
				stop := orca.RegisterOOBListener(sc, loadListener{j}, orca.OOBListenerOptions{ReportInterval: time.Hour})
				if addr == l.Addr().String() {
					j.wait(p, 3)
				} else {
					j.wait(p, 2)
				}
				stop()
				stop()
			})
			j.print(p)
		}
	}},
}

type loadListener struct{ j *journal }

func (l loadListener) OnLoadReport(r *orcapb.OrcaLoadReport) {
	l.j.add("report cpu=%v", r.GetCpuUtilization())
}
