// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"google.golang.org/grpc/balancer"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/status"
)

var (
	cacheEntries = estats.RegisterInt64AsyncGauge(estats.MetricDescriptor{
		Name:        "grpc.lb.rls.cache_entries",
		Description: "EXPERIMENTAL. Number of answers that are kept.",
		Unit:        "{entry}",
		Labels:      cacheLabels,
	})
	cacheSize = estats.RegisterInt64AsyncGauge(estats.MetricDescriptor{
		Name:        "grpc.lb.rls.cache_size",
		Description: "EXPERIMENTAL. What the answers that are kept take, roughly.",
		Unit:        "By",
		Labels:      cacheLabels,
	})
	defaultTargetPicks = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.rls.default_target_picks",
		Description:    "EXPERIMENTAL. Picks that the default target's policy made.",
		Unit:           "{pick}",
		Labels:         pickLabels,
		OptionalLabels: customLabel,
	})
	targetPicks = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.rls.target_picks",
		Description:    "EXPERIMENTAL. Picks that the policy of a target in an answer made, or of the default target if an answer names that.",
		Unit:           "{pick}",
		Labels:         pickLabels,
		OptionalLabels: customLabel,
	})
	failedPicks = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.rls.failed_picks",
		Description:    "EXPERIMENTAL. Picks that failed for want of an answer.",
		Unit:           "{pick}",
		Labels:         []string{"grpc.target", "grpc.lb.rls.server_target"},
		OptionalLabels: customLabel,
	})
)

var (
	cacheLabels = []string{"grpc.target", "grpc.lb.rls.server_target", "grpc.lb.rls.instance_uuid"}
	pickLabels  = []string{"grpc.target", "grpc.lb.rls.server_target", "grpc.lb.rls.data_plane_target", "grpc.lb.pick_result"}
	customLabel = []string{"grpc.client.call.custom"}
)

func newMetrics(b *lb) *metrics {
	m := &metrics{lb: b, recorder: b.cc.MetricsRecorder(), target: b.opts.Target.String(), id: uuid()}
	m.stop = m.recorder.RegisterAsyncReporter(estats.AsyncMetricReporterFunc(m.report), cacheEntries, cacheSize)
	return m
}

// report records the gauges. The metrics recorder calls it when they are read.
func (m *metrics) report(r estats.AsyncMetricsRecorder) error {
	m.lb.mu.Lock()
	config, entries, size := m.lb.config, m.lb.cache.len(), m.lb.cache.size
	m.lb.mu.Unlock()
	if config == nil {
		return nil
	}
	cacheEntries.Record(r, int64(entries), m.target, config.lookupService, m.id)
	cacheSize.Record(r, size, m.target, config.lookupService, m.id)
	return nil
}

func (m *metrics) failedPick(ctx context.Context, service string) {
	failedPicks.Record(m.recorder, 1, m.target, service, estats.CustomLabelFromContext(ctx))
}

// pick counts a pick of a child's picker, unless the RPC waits for another picker.
func (m *metrics) pick(ctx context.Context, service string, c choice, err error) {
	result := "complete"
	switch {
	case errors.Is(err, balancer.ErrNoSubConnAvailable):
		return
	case err == nil:
	case isStatus(err):
		result = "drop"
	default:
		result = "fail"
	}
	counter := targetPicks
	if c.dflt {
		counter = defaultTargetPicks
	}
	counter.Record(m.recorder, 1, m.target, service, c.target, result, estats.CustomLabelFromContext(ctx))
}

// isStatus reports whether an error of Pick is a status, with which even RPCs that wait for ready
// fail.
func isStatus(err error) bool {
	_, ok := status.FromError(err)
	return ok
}

// uuid returns a random UUID (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // does not fail
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
