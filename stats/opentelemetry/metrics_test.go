// SPDX-License-Identifier: Apache-2.0

package opentelemetry_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

func TestMetrics(t *testing.T) {
	client, server := newMeters(t), newMeters(t)
	p := newPair(t, &echo{}, []grpc.ServerOption{opentelemetry.ServerOption(server.options())}, opentelemetry.DialOption(client.options()))
	p.mustCall("hello")
	if err := p.call("not found"); status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	if err := p.talk("a", "b", ""); err != nil {
		t.Fatal(err)
	}
	// A name that is not the program's own, of a method that the server does not have.
	err := p.cc.Invoke(p.ctx, "/made/Up", wrapperspb.String("x"), new(text))
	if status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	p.end()

	const (
		attempt = "grpc.client.attempt."
		unary   = "grpc.method=test.Echo/Unary,grpc."
		bidi    = "grpc.method=test.Echo/Bidi,grpc."
		unknown = "grpc.method=other,grpc."
		target  = "grpc.target=dns:///ADDR"
		sent    = "sent_total_compressed_message_size"
		rcvd    = "rcvd_total_compressed_message_size"
		ok      = "status=OK,"
		missing = "status=NOT_FOUND,"
		none    = "status=UNIMPLEMENTED,"
	)
	client.want(p,
		attempt+"started{grpc.method=test.Echo/Unary,"+target+"} 2",
		attempt+"started{grpc.method=test.Echo/Bidi,"+target+"} 1",
		attempt+"started{grpc.method=other,"+target+"} 1",
		attempt+"duration{"+unary+ok+target+"} 1",
		attempt+"duration{"+unary+missing+target+"} 1",
		attempt+"duration{"+bidi+ok+target+"} 1",
		attempt+"duration{"+unknown+none+target+"} 1",
		attempt+sent+"{"+unary+ok+target+"} 1, 7",
		attempt+sent+"{"+unary+missing+target+"} 1, 11",
		attempt+sent+"{"+bidi+ok+target+"} 1, 6",
		attempt+sent+"{"+unknown+none+target+"} 1, 3",
		attempt+rcvd+"{"+unary+ok+target+"} 1, 7",
		attempt+rcvd+"{"+unary+missing+target+"} 1, 0",
		attempt+rcvd+"{"+bidi+ok+target+"} 1, 6",
		attempt+rcvd+"{"+unknown+none+target+"} 1, 0",
		"grpc.client.call.duration{"+unary+ok+target+"} 1",
		"grpc.client.call.duration{"+unary+missing+target+"} 1",
		"grpc.client.call.duration{"+bidi+ok+target+"} 1",
		"grpc.client.call.duration{"+unknown+none+target+"} 1",
	)
	const served = "grpc.server.call."
	server.want(p,
		served+"started{grpc.method=test.Echo/Unary} 2",
		served+"started{grpc.method=test.Echo/Bidi} 1",
		served+"started{grpc.method=other} 1",
		served+"duration{"+unary+"status=OK} 1",
		served+"duration{"+unary+"status=NOT_FOUND} 1",
		served+"duration{"+bidi+"status=OK} 1",
		served+"duration{"+unknown+"status=UNIMPLEMENTED} 1",
		served+sent+"{"+unary+"status=OK} 1, 7",
		served+sent+"{"+unary+"status=NOT_FOUND} 1, 0",
		served+sent+"{"+bidi+"status=OK} 1, 6",
		served+sent+"{"+unknown+"status=UNIMPLEMENTED} 1, 0",
		served+rcvd+"{"+unary+"status=OK} 1, 7",
		served+rcvd+"{"+unary+"status=NOT_FOUND} 1, 11",
		served+rcvd+"{"+bidi+"status=OK} 1, 6",
		served+rcvd+"{"+unknown+"status=UNIMPLEMENTED} 1, 0",
	)
}

// TestInstruments looks at what A66 says of each: kind, unit, buckets.
func TestInstruments(t *testing.T) {
	m := newMeters(t)
	p := newPair(t, &echo{}, []grpc.ServerOption{opentelemetry.ServerOption(m.options())}, opentelemetry.DialOption(m.options()))
	p.mustCall("x")
	p.end()
	seen := 0
	for _, i := range m.read().ScopeMetrics[0].Metrics {
		seen++
		var (
			unit   string
			bounds []float64
		)
		switch d := i.Data.(type) {
		case metricdata.Sum[int64]:
			if unit = "{attempt}"; strings.HasPrefix(i.Name, "grpc.server") {
				unit = "{call}"
			}
			if !d.IsMonotonic {
				t.Errorf("%s goes down", i.Name)
			}
		case metricdata.Histogram[int64]:
			unit, bounds = "By", opentelemetry.DefaultSizeBounds
			if !slices.Equal(d.DataPoints[0].Bounds, bounds) {
				t.Errorf("%s: bounds %v", i.Name, d.DataPoints[0].Bounds)
			}
		case metricdata.Histogram[float64]:
			unit, bounds = "s", opentelemetry.DefaultLatencyBounds
			if !slices.Equal(d.DataPoints[0].Bounds, bounds) {
				t.Errorf("%s: bounds %v", i.Name, d.DataPoints[0].Bounds)
			}
		}
		if i.Unit != unit || i.Description == "" || !opentelemetry.DefaultMetrics().Metrics()[i.Name] {
			t.Errorf("%s: unit %q, %q", i.Name, i.Unit, i.Description)
		}
	}
	if seen != 9 {
		t.Errorf("%d instruments", seen)
	}
}

// Bounds that a program sets are those of the options that it makes later.
func TestReplacedBounds(t *testing.T) {
	latencies, sizes := opentelemetry.DefaultLatencyBounds, opentelemetry.DefaultSizeBounds
	defer func() { opentelemetry.DefaultLatencyBounds, opentelemetry.DefaultSizeBounds = latencies, sizes }()
	opentelemetry.DefaultLatencyBounds, opentelemetry.DefaultSizeBounds = []float64{1, 2}, []float64{1, 2, 3}
	m := newMeters(t)
	o := m.options()
	p := newPair(t, &echo{}, []grpc.ServerOption{opentelemetry.ServerOption(o)}, opentelemetry.DialOption(o))
	p.mustCall("x")
	p.end()
	histograms := 0
	for _, i := range m.read().ScopeMetrics[0].Metrics {
		n, want := 0, 0
		switch d := i.Data.(type) {
		case metricdata.Histogram[int64]:
			n, want = len(d.DataPoints[0].Bounds), 3
		case metricdata.Histogram[float64]:
			n, want = len(d.DataPoints[0].Bounds), 2
		default:
			continue
		}
		if histograms++; n != want {
			t.Errorf("%s: %d bounds, want %d", i.Name, n, want)
		}
	}
	if histograms != 7 {
		t.Errorf("%d histograms", histograms)
	}
}

func TestCompressedSizes(t *testing.T) {
	m := newMeters(t)
	o := m.options()
	o.MetricsOptions.Metrics = estats.NewMetrics(
		opentelemetry.ClientAttemptSentCompressedTotalMessageSizeMetricName, opentelemetry.ServerCallRcvdCompressedTotalMessageSizeMetricName)
	p := newPair(t, &echo{}, []grpc.ServerOption{opentelemetry.ServerOption(o)}, opentelemetry.DialOption(o))
	p.mustCall(strings.Repeat("x", 10_000), grpc.UseCompressor(gzip.Name))
	p.end()
	n := 0
	for _, i := range m.read().ScopeMetrics[0].Metrics {
		for _, point := range i.Data.(metricdata.Histogram[int64]).DataPoints {
			n++
			if point.Sum == 0 || point.Sum > 1000 {
				t.Errorf("%s: %d bytes", i.Name, point.Sum)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d points", n)
	}
}

const flakyConfig = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.001s",
	"maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// flaky fails the first n RPCs.
func flaky(n int) *echo {
	return &echo{unary: func(context.Context, string) error {
		if n--; n >= 0 {
			return status.Error(codes.Unavailable, "try again")
		}
		return nil
	}}
}

func TestRetryMetrics(t *testing.T) {
	m := newMeters(t)
	o := m.options()
	o.MetricsOptions.Metrics = estats.NewMetrics("grpc.client.call.retries", "grpc.client.call.transparent_retries",
		"grpc.client.call.hedges", "grpc.client.call.retry_delay")
	p := newPair(t, flaky(2), nil, opentelemetry.DialOption(o), grpc.WithDefaultServiceConfig(flakyConfig))
	p.mustCall("x")
	p.mustCall("no retries, so it is not measured")
	const labels = "{grpc.method=test.Echo/Unary,grpc.target=dns:///ADDR} "
	m.want(p, "grpc.client.call.retries"+labels+"1, 2", "grpc.client.call.retry_delay"+labels+"1")
}

const hedgingConfig = `{"methodConfig": [{"name": [{}], "hedgingPolicy": {"maxAttempts": 3, "hedgingDelay": "0.001s"}}]}`

// TestHedgeMetrics: gRFC A96 counts attempts beside the first.
func TestHedgeMetrics(t *testing.T) {
	m := newMeters(t)
	o := m.options()
	o.MetricsOptions.Metrics = estats.NewMetrics("grpc.client.call.retries", "grpc.client.call.transparent_retries", "grpc.client.call.hedges")
	var calls atomic.Int64
	service := &echo{unary: func(ctx context.Context, _ string) error {
		if calls.Add(1) < 3 { // the third answers
			<-ctx.Done()
		}
		return nil
	}}
	p := newPair(t, service, nil, opentelemetry.DialOption(o), grpc.WithDefaultServiceConfig(hedgingConfig))
	p.mustCall("x")
	m.want(p, "grpc.client.call.hedges{grpc.method=test.Echo/Unary,grpc.target=dns:///ADDR} 1, 2")
}

func TestMethodAttributeFilter(t *testing.T) {
	m := newMeters(t)
	o := m.options()
	o.MetricsOptions.Metrics = estats.NewMetrics(opentelemetry.ServerCallStartedMetricName)
	o.MetricsOptions.MethodAttributeFilter = func(method string) bool { return method == bidiMethod || method == "/made/Up" }
	p := newPair(t, &echo{}, []grpc.ServerOption{opentelemetry.ServerOption(o)})
	p.mustCall("x")
	if err := p.talk("x"); err != nil {
		t.Error(err)
	}
	_ = p.cc.Invoke(p.ctx, "/made/Up", wrapperspb.String("x"), new(text))
	p.end()
	m.want(p, "grpc.server.call.started{grpc.method=test.Echo/Bidi} 1", "grpc.server.call.started{grpc.method=other} 2")
}

// TestOptionalLabels has an interceptor stand in for a balancer that knows a locality.
func TestOptionalLabels(t *testing.T) {
	m := newMeters(t)
	o := m.options()
	o.MetricsOptions.OptionalLabels = []string{"grpc.lb.locality", "grpc.lb.backend_service", "grpc.client.call.custom", "csm.service_name", "csm.service_namespace_name", "unheard.of"}
	o.MetricsOptions.Metrics = estats.NewMetrics(opentelemetry.ClientAttemptStartedMetricName,
		opentelemetry.ClientAttemptDurationMetricName, opentelemetry.ClientCallDurationMetricName)
	p := newPair(t, &echo{}, nil, opentelemetry.DialOption(o), grpc.WithPerRPCCredentials(labelling{}))
	p.ctx = estats.NewContextWithCustomLabel(p.ctx, "mi\xffne") // labels are UTF-8
	p.mustCall("x")
	const method = "grpc.method=test.Echo/Unary"
	m.want(p,
		"grpc.client.attempt.started{grpc.client.call.custom=mi\ufffdne,"+method+",grpc.target=dns:///ADDR} 1",
		"grpc.client.attempt.duration{csm.service_name=s,csm.service_namespace_name=n,grpc.client.call.custom=mi\ufffdne,grpc.lb.backend_service=b,grpc.lb.locality=l,"+
			method+",grpc.status=OK,grpc.target=dns:///ADDR} 1",
		"grpc.client.call.duration{grpc.client.call.custom=mi\ufffdne,"+method+",grpc.status=OK,grpc.target=dns:///ADDR} 1")
}

// TestEachOptionalLabelAlone: a label that is told of an attempt is there whether or not others are on.
func TestEachOptionalLabelAlone(t *testing.T) {
	for label, value := range map[string]string{"grpc.lb.locality": "l", "grpc.lb.backend_service": "b", "csm.service_name": "s", "csm.service_namespace_name": "n"} {
		m := newMeters(t)
		o := m.options()
		o.MetricsOptions.OptionalLabels = []string{label}
		o.MetricsOptions.Metrics = estats.NewMetrics(opentelemetry.ClientAttemptDurationMetricName)
		p := newPair(t, &echo{}, nil, opentelemetry.DialOption(o), grpc.WithPerRPCCredentials(labelling{}))
		p.mustCall("x")
		labels := []string{label + "=" + value, "grpc.method=test.Echo/Unary", "grpc.status=OK", "grpc.target=dns:///ADDR"}
		slices.Sort(labels)
		m.want(p, "grpc.client.attempt.duration{"+strings.Join(labels, ",")+"} 1")
	}
}

// labelling tells the labels of an attempt, whose context it gets.
type labelling struct{}

func (labelling) RequireTransportSecurity() bool { return false }
func (labelling) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	stats.UpdateLabels(ctx, map[string]string{"grpc.lb.locality": "l", "grpc.lb.backend_service": "b", "csm.service_name": "s", "csm.service_namespace_name": "n"})
	return nil, nil
}

// TestNonCallMetrics reads the metrics of connections (A94) and of this test, of each kind.
func TestNonCallMetrics(t *testing.T) {
	m := newMeters(t)
	o := m.options()
	o.MetricsOptions.OptionalLabels = []string{"grpc.security_level", "test.optional"}
	o.MetricsOptions.Metrics = estats.NewMetrics("grpc.subchannel.connection_attempts_succeeded", "grpc.subchannel.open_connections",
		"test.count", "test.sum", "test.sizes", "test.times", "test.gauge", "test.updown", "test.async")
	p := newPair(t, &echo{}, nil, opentelemetry.DialOption(o), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"measuring": {}}]}`))
	p.mustCall("x")
	m.want(p,
		"grpc.subchannel.connection_attempts_succeeded{grpc.target=ADDR} 1",
		"grpc.subchannel.open_connections{grpc.security_level=NoSecurity,grpc.target=ADDR} 1",
		"test.count{test.label=1,test.optional=2} 3", "test.sum{test.label=1} 0.5", "test.sizes{test.label=1} 1, 4",
		"test.times{test.label=1} 1", "test.gauge{test.label=1} 5", "test.updown{test.label=1} -2", "test.async{test.label=1} 7")
	p.end()
	m.want(p,
		"grpc.subchannel.connection_attempts_succeeded{grpc.target=ADDR} 1",
		"grpc.subchannel.open_connections{grpc.security_level=NoSecurity,grpc.target=ADDR} 0",
		"test.count{test.label=1,test.optional=2} 3", "test.sum{test.label=1} 0.5", "test.sizes{test.label=1} 1, 4",
		"test.times{test.label=1} 1", "test.gauge{test.label=1} 5", "test.updown{test.label=1} -2")
}

// TestSeveralPlugins gives a channel and a server two each.
func TestSeveralPlugins(t *testing.T) {
	a, b := newMeters(t), newMeters(t)
	only := func(m *meters, names ...string) opentelemetry.Options {
		o := m.options()
		o.MetricsOptions.Metrics = estats.NewMetrics(names...)
		return o
	}
	p := newPair(t, &echo{}, []grpc.ServerOption{
		opentelemetry.ServerOption(only(a, "grpc.server.call.started")), opentelemetry.ServerOption(only(b, "grpc.server.call.started")),
	}, opentelemetry.DialOption(only(a, "grpc.client.call.duration")), opentelemetry.DialOption(only(b, "grpc.client.attempt.started")))
	p.mustCall("x")
	a.want(p, "grpc.server.call.started{grpc.method=test.Echo/Unary} 1",
		"grpc.client.call.duration{grpc.method=test.Echo/Unary,grpc.status=OK,grpc.target=dns:///ADDR} 1")
	b.want(p, "grpc.server.call.started{grpc.method=test.Echo/Unary} 1",
		"grpc.client.attempt.started{grpc.method=test.Echo/Unary,grpc.target=dns:///ADDR} 1")
}

func TestNothingWithoutProviders(t *testing.T) {
	p := newPair(t, &echo{}, []grpc.ServerOption{opentelemetry.ServerOption(opentelemetry.Options{})}, opentelemetry.DialOption(opentelemetry.Options{}))
	p.mustCall("x")
	if err := p.talk("x"); err != nil {
		t.Error(err)
	}
}
