// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"fmt"
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

// OOBListener receives a server's reports.
type OOBListener interface {
	// OnLoadReport is called for each report, one at a time for all listeners of a SubConn. It must
	// not change the report, because other listeners get the same one.
	OnLoadReport(*orcapb.OrcaLoadReport)
}

// OOBListenerOptions are the options of a listener.
type OOBListenerOptions struct {
	// ReportInterval is the time between reports that the server is asked for. 0 leaves
	// it to the server. The server may use a longer interval if it has a lower bound. If
	// a SubConn has several listeners, the shortest interval applies to all.
	ReportInterval time.Duration
}

// RegisterOOBListener registers l for the reports that the server of sc sends out of band,
// until the caller calls the function that it returns. Register a listener when sc becomes
// ready, and call that function when sc is no longer ready. All listeners of sc share one
// stream. If the server doesn't have the service, no other stream is made. If the stream
// fails, a new one is made: at once if there was a report, and otherwise after a pause that
// grows as it does for connections.
//
// The function that ends the registration waits until l is not being called, and l is not called once it
// has returned. So it must not be called by l itself, nor with a lock held that l waits for.
func RegisterOOBListener(sc balancer.SubConn, l OOBListener, opts OOBListenerOptions) func() {
	p, release := sc.GetOrBuildProducer(builder{})
	producer := p.(*producer)
	r := &registration{listener: l, interval: opts.ReportInterval}
	producer.add(r)
	return sync.OnceFunc(func() {
		if able := producer.remove(r); able {
			release() // otherwise the producer remembers that, until the SubConn's state changes
		}
	})
}

type builder struct{}

// Build returns a producer, which makes no stream before it has a listener.
func (builder) Build(cc any) (balancer.Producer, func()) {
	p := &producer{
		backoff:   backoff.Default,
		turn:      make(chan struct{}, 1),
		listeners: make(map[*registration]struct{}),
	}
	// In the tests of balancers cc may be something that can't make RPCs.
	p.cc, _ = cc.(grpc.ClientConnInterface)
	return p, p.end
}

type registration struct {
	listener OOBListener
	interval time.Duration
	called   chan struct{} // closed when the call that is under way is over; nil: none is; the producer's mu guards it
}

// producer keeps the stream of one SubConn while there are listeners.
type producer struct {
	// Immutable.
	cc      grpc.ClientConnInterface
	backoff backoff.Strategy
	turn    chan struct{} // full while listeners are called: a stream may be replaced meanwhile

	mu        sync.Mutex
	listeners map[*registration]struct{}
	unable    bool               // the server doesn't have the service, or the producer has ended
	interval  time.Duration      // the interval that the stream was made with
	stop      context.CancelFunc // ends the stream; nil if there is none
}

func (p *producer) add(r *registration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[r] = struct{}{}
	p.adjust()
}

// remove waits until r is not being called. able is false if the server doesn't have the service.
func (p *producer) remove(r *registration) (able bool) {
	p.mu.Lock()
	delete(p.listeners, r)
	p.adjust()
	called, able := r.called, !p.unable
	p.mu.Unlock()
	if called != nil {
		<-called
	}
	return able
}

// end ends the producer. It is called when the last listener is removed, and when the SubConn
// is.
func (p *producer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unable = true
	p.adjust()
}

// adjust starts or ends the stream as needed. If the interval has changed, it replaces the
// stream, because the protocol allows one interval per stream. The caller must hold mu.
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

// fastest is how often a stream may follow one that had a report at once.
const fastest = time.Second

// run keeps a stream open until ctx is cancelled or the server says that it does not have the
// service.
func (p *producer) run(ctx context.Context, interval time.Duration) {
	left := true
	defer func() {
		if left { // a listener has ended the goroutine
			go func() {
				if backoff.Wait(ctx, p.backoff.Backoff(0)) {
					p.run(ctx, interval)
				}
			}()
		}
	}()
	p.keepStream(ctx, interval)
	left = false
}

func (p *producer) keepStream(ctx context.Context, interval time.Duration) {
	var again time.Time // when a stream last followed one that had a report at once
	for failures := 0; ctx.Err() == nil; {
		heard, err := p.stream(ctx, interval)
		switch {
		case ctx.Err() != nil:
			return
		case status.Code(err) == codes.Unimplemented:
			const what = "the server has no out-of-band load reports, and is not asked again"
			if sub, ok := p.cc.(interface{ TraceError(what string) }); ok { // a channel's subchannel
				sub.TraceError(fmt.Sprintf("%s: %v", what, err))
			}
			logger.Error(what) // without the server's text
			p.giveUp(ctx)
			return
		case heard && time.Since(again) >= fastest:
			// A server that ends each stream after a report would reset the backoff each time, and be asked
			// without any pause (A51: "any subsequent attempt will be subject to exponential backoff").
			failures, again = 0, time.Now()
			continue
		case heard:
			failures = 0
		}
		if !backoff.Wait(ctx, p.backoff.Backoff(failures)) {
			return
		}
		failures++
	}
}

// giveUp makes sure that no other stream is made. ctx is that of the stream that has failed.
func (p *producer) giveUp(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unable = true
	if ctx.Err() == nil {
		p.adjust()
	}
}

// stream makes one stream and delivers its reports until the stream fails. heard says whether
// there was a report.
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

// streamCoreMetrics does what the generated client's method does, except that it does not return
// an io.EOF from SendMsg: the stream has failed then, and Recv returns the reason.
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

// deliver calls the listeners. It does so without the lock, because they may register others.
func (p *producer) deliver(ctx context.Context, report *orcapb.OrcaLoadReport) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return
	}
	p.mu.Lock()
	var listeners []*registration
	if ctx.Err() == nil {
		listeners = slices.Collect(maps.Keys(p.listeners))
	}
	p.mu.Unlock()
	for _, r := range listeners {
		if p.begin(r) {
			p.call(r, report)
		}
	}
}

// begin reports whether r may be called. If it may, call must follow.
func (p *producer) begin(r *registration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, stays := p.listeners[r]; !stays {
		return false
	}
	r.called = make(chan struct{})
	return true
}

func (p *producer) call(r *registration, report *orcapb.OrcaLoadReport) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(r.called)
		r.called = nil
	}()
	r.listener.OnLoadReport(report)
}
