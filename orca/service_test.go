// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// reports is the server's side of a stream.
type reports struct {
	grpc.ServerStream
	ctx     context.Context
	trailer metadata.MD

	mu   sync.Mutex
	sent []*orcapb.OrcaLoadReport
}

func (r *reports) Context() context.Context { return r.ctx }

func (r *reports) SetTrailer(md metadata.MD) { r.trailer = metadata.Join(r.trailer, md) }

func (r *reports) Send(report *orcapb.OrcaLoadReport) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, report)
	return nil
}

func (r *reports) all() []*orcapb.OrcaLoadReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

func TestServiceInterval(t *testing.T) {
	for _, tt := range []struct {
		bound     time.Duration
		requested *durationpb.Duration
		want      time.Duration
		any       bool
	}{
		{bound: 0, requested: nil, want: 30 * time.Second},
		{bound: time.Second, requested: nil, want: 30 * time.Second},
		{bound: time.Minute, requested: nil, want: time.Minute},
		{bound: 0, requested: durationpb.New(time.Second), want: 30 * time.Second},
		{bound: 0, requested: durationpb.New(-time.Second), want: 30 * time.Second},
		{bound: 0, requested: durationpb.New(45 * time.Second), want: 45 * time.Second},
		{bound: time.Minute, requested: durationpb.New(45 * time.Second), want: time.Minute},
		{bound: time.Second, want: time.Second, any: true},
		{bound: time.Second, requested: durationpb.New(time.Millisecond), want: time.Second, any: true},
		{bound: time.Second, requested: durationpb.New(2 * time.Second), want: 2 * time.Second, any: true},
		{want: 30 * time.Second, any: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			recorder := NewServerMetricsRecorder()
			recorder.SetCPUUtilization(0.5)
			opts := ServiceOptions{ServerMetricsProvider: recorder, MinReportingInterval: tt.bound}
			if tt.any {
				internal.ORCAAllowAnyMinReportingInterval.(func(*ServiceOptions))(&opts)
			}
			s, err := NewService(opts)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			out, done := &reports{ctx: ctx}, make(chan error)
			go func() {
				done <- s.StreamCoreMetrics(&orcaservice.OrcaLoadReportRequest{ReportInterval: tt.requested}, out)
			}()
			synctest.Wait()
			recorder.SetCPUUtilization(0.25)
			time.Sleep(tt.want - 1)
			synctest.Wait()
			if n := len(out.all()); n != 1 {
				t.Errorf("%v, %v: %d reports before %v", tt.bound, tt.requested, n, tt.want)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if sent := out.all(); len(sent) != 2 || sent[0].CpuUtilization != 0.5 || sent[1].CpuUtilization != 0.25 {
				t.Errorf("%v, %v: %v after %v", tt.bound, tt.requested, sent, tt.want)
			}
			cancel()
			if err := <-done; status.Code(err) != codes.Canceled {
				t.Errorf("in the end: %v", err)
			}
		})
	}
}

func TestServiceOptions(t *testing.T) {
	if _, err := NewService(ServiceOptions{}); err == nil {
		t.Error("a service without a provider")
	}
	if err := Register(nil, ServiceOptions{}); err == nil {
		t.Error("a service without a provider is registered")
	}
	s, err := NewService(ServiceOptions{ServerMetricsProvider: newRecorder()})
	if err != nil {
		t.Fatal(err)
	}
	bad := &orcaservice.OrcaLoadReportRequest{ReportInterval: &durationpb.Duration{Seconds: 1, Nanos: -1}}
	if err := s.StreamCoreMetrics(bad, &reports{ctx: t.Context()}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a bad interval: %v", err)
	}
}

func TestServiceLeavesOutSingleRPCs(t *testing.T) {
	r := newRecorder()
	r.SetRequestCost("a", 1)
	r.SetNamedMetric("b", 1)
	r.SetNamedUtilization("c", 1)
	s := &Service{provider: r}
	want := &orcapb.OrcaLoadReport{Utilization: map[string]float64{"c": 1}}
	if got := s.report(); !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// none is a provider that has nothing.
type none struct{}

func (none) ServerMetrics() *ServerMetrics { return nil }

func TestCallMetrics(t *testing.T) {
	machine := newRecorder()
	machine.SetCPUUtilization(0.5)
	machine.SetQPS(3)
	record := func(ctx context.Context) {
		r := CallMetricsRecorderFromContext(ctx)
		r.SetCPUUtilization(0.25)
		CallMetricsRecorderFromContext(ctx).SetRequestCost("x", 4)
	}
	for _, tt := range []struct {
		name     string
		provider ServerMetricsProvider
		handler  func(context.Context)
		want     *orcapb.OrcaLoadReport
	}{
		{"nothing", nil, nil, nil},
		{"the machine", machine, nil, &orcapb.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: 3}},
		{"the RPC", nil, record, &orcapb.OrcaLoadReport{CpuUtilization: 0.25, RequestCost: map[string]float64{"x": 4}}},
		{"both", machine, record, &orcapb.OrcaLoadReport{CpuUtilization: 0.25, RpsFractional: 3, RequestCost: map[string]float64{"x": 4}}},
		{"a machine that does not know", none{}, nil, &orcapb.OrcaLoadReport{}},
	} {
		want := errors.New("the handler's")
		out := &reports{ctx: t.Context()}
		var ctx context.Context
		err := reporter{tt.provider}.stream(nil, out, nil, func(_ any, ss grpc.ServerStream) error {
			ctx = ss.Context()
			if tt.handler != nil {
				tt.handler(ctx)
			}
			return want
		})
		if err != want {
			t.Errorf("%s: %v", tt.name, err)
		}
		got, _ := reportFromTrailer(out.trailer).(*orcapb.OrcaLoadReport)
		if (got == nil) != (tt.want == nil) || got != nil && !proto.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		late := CallMetricsRecorderFromContext(ctx)
		if late == nil || reflect.ValueOf(late).IsNil() {
			t.Fatalf("%s: no recorder after the RPC", tt.name)
		}
		late.SetQPS(1) // comes to nothing
	}
	if CallMetricsRecorderFromContext(t.Context()) != nil {
		t.Error("a recorder without the option")
	}
}

func TestContextsOfACall(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	c := &callContext{Context: parent}
	child, cancelChild := context.WithCancel(c)
	defer cancelChild()
	before := runtime.NumGoroutine()
	var stop []context.CancelFunc
	for range 100 {
		_, cancel := context.WithCancel(c)
		stop = append(stop, cancel)
	}
	if more := runtime.NumGoroutine() - before; more > 10 { // others come and go
		t.Errorf("100 contexts that derive from a call's have %d goroutines", more)
	}
	for _, cancel := range stop {
		cancel()
	}
	cancel()
	<-child.Done()
}
