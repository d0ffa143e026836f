// SPDX-License-Identifier: Apache-2.0

package opentelemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type text = wrapperspb.StringValue

const (
	unaryMethod = "/test.Echo/Unary"
	bidiMethod  = "/test.Echo/Bidi"
)

var bidiStream = &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}

// echo is a service that sends back what it gets, unless that names a status.
type echo struct {
	unary func(ctx context.Context, in string) error
}

func (e *echo) answer(ctx context.Context, in string) error {
	if in == "not found" {
		return status.Error(codes.NotFound, "it is not there")
	}
	if e.unary != nil {
		return e.unary(ctx, in)
	}
	return nil
}

//nolint:revive // generated code has them in this order
func unaryHandler(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	in := new(text)
	if err := decode(in); err != nil {
		return nil, err
	}
	return in, srv.(*echo).answer(ctx, in.Value)
}

func bidiHandler(srv any, st grpc.ServerStream) error {
	for {
		m := new(text)
		if err := st.RecvMsg(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := srv.(*echo).answer(st.Context(), m.Value); err != nil {
			return err
		}
		if err := st.SendMsg(m); err != nil {
			return err
		}
	}
}

var echoDesc = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: unaryHandler}},
	Streams:     []grpc.StreamDesc{{StreamName: "Bidi", Handler: bidiHandler, ClientStreams: true, ServerStreams: true}},
}

// pair is a server and a channel to it.
type pair struct {
	t      testing.TB
	ctx    context.Context
	server *grpc.Server
	cc     *grpc.ClientConn
	addr   string
}

func newPair(t testing.TB, e *echo, server []grpc.ServerOption, client ...grpc.DialOption) *pair {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, addr: lis.Addr().String(), server: grpc.NewServer(server...)}
	p.server.RegisterService(&echoDesc, e)
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(lis) }()
	p.cc, err = grpc.NewClient(p.addr, append(client, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	p.ctx = ctx
	t.Cleanup(func() {
		cancel()
		p.end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return p
}

// end waits until all RPCs are over on the server, too.
func (p *pair) end() {
	_ = p.cc.Close()
	p.server.GracefulStop()
}

func (p *pair) call(in string, opts ...grpc.CallOption) error {
	return p.cc.Invoke(p.ctx, unaryMethod, wrapperspb.String(in), new(text), append(opts, grpc.StaticMethod())...)
}

func (p *pair) mustCall(in string, opts ...grpc.CallOption) {
	p.t.Helper()
	if err := p.call(in, opts...); err != nil {
		p.t.Fatal(err)
	}
}

// talk has each of the messages sent and received on a stream.
func (p *pair) talk(messages ...string) error {
	st, err := p.cc.NewStream(p.ctx, bidiStream, bidiMethod, grpc.StaticMethod())
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := st.SendMsg(wrapperspb.String(m)); err != nil {
			return err
		}
		if err := st.RecvMsg(new(text)); err != nil {
			return err
		}
	}
	_ = st.CloseSend()
	if err := st.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// meters is a real SDK, and how to read it.
type meters struct {
	t        testing.TB
	reader   *sdkmetric.ManualReader
	provider *sdkmetric.MeterProvider
}

func newMeters(t testing.TB) *meters {
	r := sdkmetric.NewManualReader()
	return &meters{t, r, sdkmetric.NewMeterProvider(sdkmetric.WithReader(r))}
}

func (m *meters) options() opentelemetry.Options {
	return opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: m.provider}}
}

// want compares what was measured, a line for each point: "name{labels} value". The value
// of a histogram is its count, and the sum of whole numbers. The server's address is ADDR.
func (m *meters) want(p *pair, lines ...string) {
	m.t.Helper()
	var got []string
	for _, sc := range m.read().ScopeMetrics {
		if sc.Scope.Name != "grpc-go" || sc.Scope.Version != grpc.Version {
			m.t.Errorf("scope %+v", sc.Scope)
		}
		for _, i := range sc.Metrics {
			got = append(got, pointsOf(i)...)
		}
	}
	for i, l := range got {
		got[i] = strings.ReplaceAll(l, p.addr, "ADDR")
	}
	slices.Sort(got)
	slices.Sort(lines)
	if !slices.Equal(got, lines) {
		m.t.Errorf("measured:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func (m *meters) read() metricdata.ResourceMetrics {
	m.t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		m.t.Fatal(err)
	}
	return all
}

func pointsOf(m metricdata.Metrics) []string {
	var lines []string
	add := func(set attribute.Set, value string) {
		labels := make([]string, 0, set.Len())
		for _, kv := range set.ToSlice() {
			labels = append(labels, string(kv.Key)+"="+kv.Value.AsString())
		}
		lines = append(lines, m.Name+"{"+strings.Join(labels, ",")+"} "+value)
	}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Value))
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Value))
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Value))
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprintf("%d, %d", p.Count, p.Sum))
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Count))
		}
	}
	return lines
}
