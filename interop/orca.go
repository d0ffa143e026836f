// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"sync"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/status"
)

// reportInterval is the time between reports out of band for those who ask for less. The
// service of package orca has 30 seconds, for which no case waits.
const reportInterval = time.Second

// loadReports publishes, out of band, what clients tell it to. Each report is sent at once
// and then from time to time.
type loadReports struct {
	orcaservice.UnimplementedOpenRcaServiceServer

	// turn holds a token that a stream has while the report is its own.
	turn chan struct{}

	mu      sync.Mutex
	report  *orcapb.OrcaLoadReport
	changed chan struct{} // closed when report is another
}

func newLoadReports() *loadReports {
	l := &loadReports{turn: make(chan struct{}, 1), report: &orcapb.OrcaLoadReport{}, changed: make(chan struct{})}
	l.turn <- struct{}{}
	return l
}

// acquire waits until no other stream has a report published.
func (l *loadReports) acquire(ctx context.Context) error {
	select {
	case <-l.turn:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (l *loadReports) release() { l.turn <- struct{}{} }

func (l *loadReports) set(r *testpb.TestOrcaReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = &orcapb.OrcaLoadReport{
		CpuUtilization: r.GetCpuUtilization(),
		MemUtilization: r.GetMemoryUtilization(),
		Utilization:    r.GetUtilization(),
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *loadReports) current() (*orcapb.OrcaLoadReport, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.report, l.changed
}

func (l *loadReports) StreamCoreMetrics(req *orcaservice.OrcaLoadReportRequest, stream orcaservice.OpenRcaService_StreamCoreMetricsServer) error {
	interval := reportInterval
	if d := req.GetReportInterval(); d != nil {
		if err := d.CheckValid(); err != nil {
			return status.Errorf(codes.InvalidArgument, "report_interval: %v", err)
		}
		interval = max(interval, d.AsDuration())
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		report, changed := l.current()
		if err := stream.Send(report); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-changed:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// publisher is the part of a stream that has reports published.
type publisher struct {
	reports *loadReports
	held    bool
}

// publish publishes a report that a request holds, if it does, from its stream's first on
// when no other stream does.
func (p *publisher) publish(ctx context.Context, report *testpb.TestOrcaReport) error {
	if report == nil || p.reports == nil {
		return nil
	}
	if !p.held {
		if err := p.reports.acquire(ctx); err != nil {
			return err
		}
		p.held = true
	}
	p.reports.set(report)
	return nil
}

// end lets other streams publish.
func (p *publisher) end() {
	if p.held {
		p.reports.release()
	}
}

// reportCost attaches a report that a request wants to the RPC's trailers.
func reportCost(ctx context.Context, report *testpb.TestOrcaReport) {
	if report == nil {
		return // who takes the recorder sends a report, be it empty
	}
	r := orca.CallMetricsRecorderFromContext(ctx)
	if r == nil {
		return // not a server of NewServer
	}
	r.SetCPUUtilization(report.GetCpuUtilization())
	r.SetMemoryUtilization(report.GetMemoryUtilization())
	for name, value := range report.GetRequestCost() {
		r.SetRequestCost(name, value)
	}
	for name, value := range report.GetUtilization() {
		r.SetNamedUtilization(name, value)
	}
}
