// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// OOBListener hears of a server's reports.
type OOBListener interface {
	// OnLoadReport is told each report, one at a time. It must not change it, as other
	// listeners get the same.
	OnLoadReport(*orcapb.OrcaLoadReport)
}

// OOBListenerOptions say what a listener wants.
type OOBListenerOptions struct {
	// ReportInterval is how often the server is asked to report. 0 leaves it to the
	// server, and so may what is below the server's bound. Of several listeners of a
	// SubConn, the shortest one counts for all.
	ReportInterval time.Duration
}

// RegisterOOBListener has l hear of the reports that the server of sc sends out of band,
// until the function that it returns is called. Register it when sc becomes ready, and
// end that when it no longer is. All listeners of sc share one stream. A server that
// doesn't have the service is not asked again; a stream that fails is made again, after a
// pause that grows as for connections unless a report had come.
//
// l may be called once more, at the same time as the function that ends it.
func RegisterOOBListener(sc balancer.SubConn, l OOBListener, opts OOBListenerOptions) func() {
	p, release := sc.GetOrBuildProducer(builder{})
	producer := p.(*producer)
	r := &registration{listener: l, interval: opts.ReportInterval}
	producer.add(r)
	return sync.OnceFunc(func() {
		producer.remove(r)
		release()
	})
}

type builder struct{}

// Build returns a producer that does nothing before it has a listener.
func (builder) Build(cc any) (balancer.Producer, func()) {
	p := &producer{
		backoff:   backoff.Default,
		listeners: make(map[*registration]struct{}),
	}
	// The fakes of balancers' tests may have nothing to make RPCs on.
	p.cc, _ = cc.(grpc.ClientConnInterface)
	return p, p.end
}

type registration struct {
	listener OOBListener
	interval time.Duration
}

// producer keeps the stream of one SubConn while there are listeners.
type producer struct {
	// Immutable.
	cc      grpc.ClientConnInterface
	backoff backoff.Strategy

	mu        sync.Mutex
	listeners map[*registration]struct{}
	unable    bool               // the server doesn't have the service, or is given up
	interval  time.Duration      // what the stream was made with
	stop      context.CancelFunc // ends the stream; nil without one
}

func (p *producer) add(r *registration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[r] = struct{}{}
	p.adjust()
}

func (p *producer) remove(r *registration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.listeners, r)
	p.adjust()
}

// end is called when the last listener has gone, and when the SubConn has.
func (p *producer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unable = true
	p.adjust()
}

// adjust begins the stream, ends it, or begins another for another interval, of which
// the protocol allows one a stream. mu is held.
func (p *producer) adjust() {
	want := len(p.listeners) > 0 && !p.unable && p.cc != nil
	interval := p.shortest()
	if p.stop != nil && (!want || interval != p.interval) {
		p.stop()
		p.stop = nil
	}
	if want && p.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		p.interval, p.stop = interval, cancel
		go p.run(ctx, interval)
	}
}

func (p *producer) shortest() time.Duration {
	if len(p.listeners) == 0 {
		return 0
	}
	return slices.MinFunc(slices.Collect(maps.Keys(p.listeners)), func(a, b *registration) int {
		return int(min(max(a.interval-b.interval, -1), 1))
	}).interval
}

// run keeps a stream until ctx is cancelled or the server says that it can't.
func (p *producer) run(ctx context.Context, interval time.Duration) {
	for failures := 0; ctx.Err() == nil; {
		heard, err := p.stream(ctx, interval)
		switch {
		case ctx.Err() != nil:
			return
		case status.Code(err) == codes.Unimplemented:
			logger.Errorf("the server has no out-of-band load reports, and is not asked again: %v", err)
			p.giveUp(ctx)
			return
		case heard:
			failures = 0
			continue // at once
		}
		if !backoff.Wait(ctx, p.backoff.Backoff(failures)) {
			return
		}
		failures++
	}
}

// giveUp makes no stream begin any more, if the one of ctx is still wanted.
func (p *producer) giveUp(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unable = true
	if ctx.Err() == nil {
		p.adjust()
	}
}

// stream makes one stream and hands its reports on until it fails. heard says whether
// there was one.
func (p *producer) stream(ctx context.Context, interval time.Duration) (heard bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // frees a stream that was not read to its end
	defer cancel()
	reports, err := streamCoreMetrics(ctx, p.cc, &orcaservice.OrcaLoadReportRequest{
		ReportInterval: durationpb.New(interval),
	})
	if err != nil {
		return false, err
	}
	for {
		report, err := reports.Recv()
		if err != nil {
			return heard, err
		}
		heard = true
		p.deliver(ctx, report)
	}
}

// streamCoreMetrics is what the generated client has, but that an io.EOF from SendMsg is no
// error: the stream has failed then, and Recv says why.
func streamCoreMetrics(ctx context.Context, cc grpc.ClientConnInterface, request *orcaservice.OrcaLoadReportRequest) (grpc.ServerStreamingClient[orcapb.OrcaLoadReport], error) {
	stream, err := cc.NewStream(ctx, &orcaservice.OpenRcaService_ServiceDesc.Streams[0], orcaservice.OpenRcaService_StreamCoreMetrics_FullMethodName, grpc.StaticMethod())
	if err != nil {
		return nil, err
	}
	reports := &grpc.GenericClientStream[orcaservice.OrcaLoadReportRequest, orcapb.OrcaLoadReport]{ClientStream: stream}
	if err := reports.SendMsg(request); err != nil && err != io.EOF {
		return nil, err
	}
	return reports, reports.CloseSend()
}

// deliver calls the listeners without the lock, as they may end themselves.
func (p *producer) deliver(ctx context.Context, report *orcapb.OrcaLoadReport) {
	p.mu.Lock()
	var listeners []*registration
	if ctx.Err() == nil {
		listeners = slices.Collect(maps.Keys(p.listeners))
	}
	p.mu.Unlock()
	for _, r := range listeners {
		r.listener.OnLoadReport(report)
	}
}
