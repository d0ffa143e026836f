// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ReportLoad starts load reports to a control plane, and returns their counters. The reports end when
// every stop function that ReportLoad has returned for this control plane has been called. A control
// plane that is not in the bootstrap configuration gets no reports (A47); its counters have no effect.
func (c *Client) ReportLoad(config *bootstrap.Server) (loads *Loads, stop func()) {
	if _, ok := c.config.Bootstrap.AllServers()[config.Key()]; !ok {
		c.warnf("%v is not in the bootstrap configuration; it gets no load reports", config)
		return new(Loads), func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return new(Loads), func() {}
	}
	s := c.serverLocked(config)
	if s.loads == nil {
		s.startLoadsLocked()
	}
	l := s.loads
	l.users++
	return &l.loads, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.users--; l.users == 0 && s.loads == l {
			l.cancel()
			s.loads = nil
			s.releaseLocked()
		}
	})
}

func (s *server) startLoadsLocked() {
	ctx, cancel := context.WithCancel(s.ctx)
	s.loads = &loadReporter{server: s, cancel: cancel}
	s.client.running.Add(1)
	go s.loads.run(ctx)
}

// run keeps an LRS stream open.
func (l *loadReporter) run(ctx context.Context) {
	c := l.server.client
	defer c.running.Done()
	transport, err := l.server.dial()
	if err != nil {
		return // server.run reports the error
	}
	for failures := 0; ctx.Err() == nil; {
		answered, err := l.serve(ctx, transport)
		if ctx.Err() != nil {
			return
		}
		c.logf("load reports to %v: %v", l.server.config, err)
		if answered {
			failures = 0
		}
		backoff.Wait(ctx, max(c.config.Backoff(failures), minStream))
		failures++
	}
}

// allClusters is the client feature by which a control plane knows that it can ask for all clusters
// without naming them.
const allClusters = "envoy.lrs.supports_send_all_clusters"

// serve opens a stream and sends reports until the stream ends.
func (l *loadReporter) serve(ctx context.Context, t Transport) (answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.NewStream(ctx, lrsMethod)
	if err != nil {
		return false, err
	}
	node := proto.CloneOf(l.server.client.node)
	node.ClientFeatures = append(node.ClientFeatures, allClusters)
	if err := stream.Send(&lrsv3.LoadStatsRequest{Node: node}); err != nil {
		return false, err
	}
	r := &reporting{loads: &l.loads, stream: stream, ctx: ctx}
	defer func() {
		cancel() // a report that the control plane does not read ends, and stop has its lock
		r.stop()
	}()
	for {
		var resp lrsv3.LoadStatsResponse
		if err := stream.Recv(&resp); err != nil {
			return answered, err
		}
		answered = true
		if err := r.configure(&resp); err != nil {
			return answered, err
		}
	}
}

// reporting sends the reports on one stream. A timer triggers them.
type reporting struct {
	loads  *Loads
	stream Stream
	ctx    context.Context //nolint:containedctx // that of the stream

	mu       sync.Mutex
	timer    *time.Timer
	interval time.Duration
	names    []string // sorted; nil means all clusters
}

// minInterval is the shortest interval that a control plane may ask for; less is an error.
// shortestInterval is the shortest interval at which reports are sent: nothing else limits how fast they
// follow each other.
const (
	minInterval      = time.Millisecond
	shortestInterval = 100 * time.Millisecond
)

func (r *reporting) configure(in *lrsv3.LoadStatsResponse) error {
	d := in.GetLoadReportingInterval()
	if err := d.CheckValid(); err != nil {
		return fmt.Errorf("load_reporting_interval: %w", err)
	}
	if d.AsDuration() < minInterval {
		return fmt.Errorf("load_reporting_interval of %v is too short", d.AsDuration())
	}
	var names []string
	if !in.GetSendAllClusters() {
		names = append([]string{}, in.GetClusters()...)
		slices.Sort(names)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interval, r.names = max(d.AsDuration(), shortestInterval), names
	if r.timer == nil {
		r.timer = time.AfterFunc(r.interval, r.report)
	} else {
		r.timer.Reset(r.interval)
	}
	return nil
}

// report sends the counts since the last report, and restarts the timer.
func (r *reporting) report() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	req := &lrsv3.LoadStatsRequest{}
	for _, c := range r.loads.take(r.names) {
		req.ClusterStats = append(req.ClusterStats, c.message())
	}
	if r.stream.Send(req) == nil {
		r.timer.Reset(r.interval)
	}
}

func (r *reporting) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
}

func (c *clusterReport) message() *endpointv3.ClusterStats {
	out := &endpointv3.ClusterStats{
		ClusterName: c.cluster, ClusterServiceName: c.service, TotalDroppedRequests: c.dropped,
		LoadReportInterval: durationpb.New(c.interval),
	}
	for category, n := range c.drops {
		out.DroppedRequests = append(out.DroppedRequests, &endpointv3.ClusterStats_DroppedRequests{Category: category, DroppedCount: n})
	}
	for i := range c.localities {
		out.UpstreamLocalityStats = append(out.UpstreamLocalityStats, c.localities[i].message())
	}
	return out
}

func (l *localityReport) message() *endpointv3.UpstreamLocalityStats {
	out := &endpointv3.UpstreamLocalityStats{
		Locality:            &corev3.Locality{Region: l.Region, Zone: l.Zone, SubZone: l.SubZone},
		TotalIssuedRequests: l.issued, TotalSuccessfulRequests: l.succeeded, TotalErrorRequests: l.failed,
		TotalRequestsInProgress: l.active,
		CpuUtilization:          l.top[CPU].message(), MemUtilization: l.top[Memory].message(),
		ApplicationUtilization: l.top[Application].message(),
	}
	for name, m := range l.named {
		out.LoadMetricStats = append(out.LoadMetricStats, &endpointv3.EndpointLoadMetricStats{
			MetricName: name, NumRequestsFinishedWithMetric: m.count, TotalMetricValue: m.total,
		})
	}
	return out
}

// message returns nil if the metric has not been reported.
func (m *metricSum) message() *endpointv3.UnnamedEndpointLoadMetricStats {
	if m.count == 0 {
		return nil
	}
	return &endpointv3.UnnamedEndpointLoadMetricStats{NumRequestsFinishedWithMetric: m.count, TotalMetricValue: m.total}
}
