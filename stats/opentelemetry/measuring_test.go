// SPDX-License-Identifier: Apache-2.0

package opentelemetry_test

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	estats "google.golang.org/grpc/experimental/stats"
)

// measuring is pick_first with metrics of every kind.
type measuring struct{}

func init() { balancer.Register(measuring{}) }

func describe(name string) estats.MetricDescriptor {
	return estats.MetricDescriptor{Name: name, Description: "a test's", Unit: "1", Labels: []string{"test.label"}}
}

var (
	countHandle = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name: "test.count", Labels: []string{"test.label"}, OptionalLabels: []string{"test.off", "test.optional"},
	})
	sumHandle    = estats.RegisterFloat64Count(describe("test.sum"))
	sizesHandle  = estats.RegisterInt64Histo(describe("test.sizes"))
	timesHandle  = estats.RegisterFloat64Histo(describe("test.times"))
	gaugeHandle  = estats.RegisterInt64Gauge(describe("test.gauge"))
	updownHandle = estats.RegisterInt64UpDownCount(describe("test.updown"))
	asyncHandle  = estats.RegisterInt64AsyncGauge(describe("test.async"))
	offHandle    = estats.RegisterInt64AsyncGauge(describe("test.off"))
)

func (measuring) Name() string { return "measuring" }

func (measuring) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	r := cc.MetricsRecorder()
	countHandle.Record(r, 3, "1", "off", "2")
	sumHandle.Record(r, 0.5, "1")
	sizesHandle.Record(r, 4, "1")
	timesHandle.Record(r, 1, "1")
	gaugeHandle.Record(r, 5, "1")
	updownHandle.Record(r, -2, "1")
	report := estats.AsyncMetricReporterFunc(func(to estats.AsyncMetricsRecorder) error {
		asyncHandle.Record(to, 7, "1")
		offHandle.Record(to, 8, "1")
		return nil
	})
	return &measuringBalancer{
		Balancer: balancer.Get(pickfirst.Name).Build(cc, opts),
		stop:     r.RegisterAsyncReporter(report, asyncHandle, offHandle),
	}
}

type measuringBalancer struct {
	balancer.Balancer
	stop func()
}

func (b *measuringBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	s.BalancerConfig = nil
	return b.Balancer.UpdateClientConnState(s)
}

func (b *measuringBalancer) Close() {
	b.stop()
	b.Balancer.Close()
}
