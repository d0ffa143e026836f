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

// reportInterval is the shortest time between reports out of band. The service of package orca
// is not used, because its shortest time is 30 seconds, which is too long for a test case.
const reportInterval = time.Second

// loadReports is a service that sends out of band the reports that test clients ask for. It
// sends each report at once and then regularly.
type loadReports struct {
	orcaservice.UnimplementedOpenRcaServiceServer

	// turn holds a token. A FullDuplexCall that has set report keeps the token until it ends.
	turn chan struct{}

	mu      sync.Mutex
	report  *orcapb.OrcaLoadReport
	changed chan struct{} // closed when report changes, and then replaced
}

func newLoadReports() *loadReports {
	l := &loadReports{turn: make(chan struct{}, 1), report: &orcapb.OrcaLoadReport{}, changed: make(chan struct{})}
	l.turn <- struct{}{}
	return l
}

// acquire waits for the token, which no other stream has then.
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

// publisher sets the reports that the requests of one stream ask for.
type publisher struct {
	reports *loadReports
	held    bool
}

// publish sets the report that a request asks for, if it does. For the first report of the
// stream it waits until no other stream has the token.
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

// end releases the token, so that other streams can set reports.
func (p *publisher) end() {
	if p.held {
		p.reports.release()
	}
}

// reportCost puts the report that a request asks for into the RPC's trailers.
func reportCost(ctx context.Context, report *testpb.TestOrcaReport) {
	if report == nil {
		return // taking the recorder would send a report, even an empty one
	}
	r := orca.CallMetricsRecorderFromContext(ctx)
	if r == nil {
		return // the server was not made by NewServer
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
