// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	nettrace "golang.org/x/net/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/binarylog"
	binpb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	czpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/credentials/insecure"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// secrets are what a probe sends: each stands for a password, a token or a key. Their bytes
// are letters, so that they fit everywhere.
const (
	secret       = "Geheimnis0815"
	secondSecret = "Losungswort42"
)

// callLimit is how long a call may take. What waits for longer has seen what there is.
const callLimit = 3 * time.Second

// disguises are the forms in which a printed value may show a secret.
func disguises(s string) []string {
	return []string{
		s, strings.ToLower(s),
		encodedCore(base64.StdEncoding, s, 0), encodedCore(base64.StdEncoding, s, 1), encodedCore(base64.StdEncoding, s, 2),
		hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
		strings.Trim(fmt.Sprint([]byte(s)), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(s)), "[]byte{"), "}"),
	}
}

// encodedCore is what base64 makes of a secret that has some bytes before it: the characters
// that its neighbours take part in are left out.
func encodedCore(e *base64.Encoding, s string, before int) string {
	text := e.EncodeToString([]byte(strings.Repeat("x", before) + s))
	return text[(before*8+5)/6+1 : len(text)-4]
}

// shows reports whether a text has a secret in it.
func shows(text, hidden string) bool {
	return slices.ContainsFunc(disguises(hidden), func(d string) bool { return strings.Contains(text, d) })
}

// watch is everything that can observe what a program does. It keeps who saw a secret.
type watch struct {
	*probe.P
	mu      sync.Mutex
	seen    map[string]bool
	spans   *tracetest.InMemoryExporter
	reader  *metric.ManualReader
	options opentelemetry.Options
}

// see looks for the secrets in a text.
func (w *watch) see(observer, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, hidden := range []string{secret, secondSecret} {
		if shows(text, hidden) {
			w.seen[fmt.Sprintf("%s sees secret %d", observer, i+1)] = true
			if os.Getenv("PARITY_SHOW") != "" {
				fmt.Fprintf(os.Stderr, "%s: %s\n", observer, text)
			}
		}
	}
}

// print prints a value in each of the ways that programs do. Which of them shows a secret is
// all the same.
func (w *watch) print(what string, values ...any) {
	for _, v := range values {
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			w.see("printed "+what, fmt.Sprintf(format, v))
		}
	}
}

// newWatch makes all of the process be watched. The process is the probe's own.
func newWatch(p *probe.P) *watch {
	w := &watch{P: p, seen: make(map[string]bool), spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	grpc.EnableTracing = true
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(logWriter{w, "info"}, logWriter{w, "warning"}, logWriter{w, "error"}, 99))
	binarylog.SetSink(w)
	w.options = opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{
			MeterProvider:  metric.NewMeterProvider(metric.WithReader(w.reader)),
			Metrics:        opentelemetry.DefaultMetrics().Add("grpc.lb.rls.cache_entries", "grpc.lb.rls.cache_size", "grpc.lb.pick_first.connection_attempts_failed", "grpc.subchannel.disconnections"),
			OptionalLabels: []string{"grpc.lb.locality", "grpc.lb.backend_service", "grpc.disconnect_error"},
		},
		TraceOptions: experimental.TraceOptions{
			TracerProvider:    trace.NewTracerProvider(trace.WithSyncer(w.spans)),
			TextMapPropagator: propagation.NewCompositeTextMapPropagator(opentelemetry.GRPCTraceBinPropagator{}, propagation.TraceContext{}, propagation.Baggage{}),
		},
	}
	return w
}

// logWriter is where package grpclog writes.
type logWriter struct {
	w     *watch
	level string
}

func (l logWriter) Write(b []byte) (int, error) {
	l.w.see("log", string(b))
	return len(b), nil
}

// Write and Close are a binary log's sink.
func (w *watch) Write(e *binpb.GrpcLogEntry) error {
	w.see(fmt.Sprintf("binary log %v %v", e.GetLogger(), e.GetType()), deep(e))
	return nil
}
func (*watch) Close() error { return nil }

// deep prints a message with its bytes as they are, and as protobuf prints them.
func deep(m proto.Message) string {
	wire, _ := proto.Marshal(m)
	return string(wire) + prototext.Format(m)
}

// watchStats is a stats handler of one side.
type watchStats struct {
	w    *watch
	side string
}

func (s watchStats) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	s.context(ctx, "TagRPC")
	s.w.see(s.side+" stats TagRPC", fmt.Sprintf("%+v", *i))
	return ctx
}

func (s watchStats) HandleRPC(ctx context.Context, e stats.RPCStats) {
	s.context(ctx, fmt.Sprintf("%T", e))
	text := fmt.Sprintf("%+v", e)
	switch e := e.(type) {
	case *stats.InPayload:
		text = fmt.Sprintf("%+v", *e)
	case *stats.OutPayload:
		text = fmt.Sprintf("%+v", *e)
	}
	s.w.see(fmt.Sprintf("%s stats %T", s.side, e), text)
}

func (s watchStats) TagConn(ctx context.Context, i *stats.ConnTagInfo) context.Context {
	s.context(ctx, "TagConn")
	s.w.see(s.side+" stats TagConn", fmt.Sprintf("%+v", *i))
	return ctx
}

func (s watchStats) HandleConn(ctx context.Context, e stats.ConnStats) {
	s.context(ctx, fmt.Sprintf("%T", e))
	s.w.see(fmt.Sprintf("%s stats %T", s.side, e), fmt.Sprintf("%+v", e))
}

// context looks at the values that programs find in a context, and at those that are printed
// with it.
func (s watchStats) context(ctx context.Context, at string) {
	out, _ := metadata.FromOutgoingContext(ctx)
	in, _ := metadata.FromIncomingContext(ctx)
	s.w.see(fmt.Sprintf("%s stats' context, outgoing metadata, %s", s.side, at), fmt.Sprint(out))
	s.w.see(fmt.Sprintf("%s stats' context, incoming metadata, %s", s.side, at), fmt.Sprint(in))
	s.w.see(fmt.Sprintf("%s stats' context, printed, %s", s.side, at), fmt.Sprint(ctx))
}

// pair is a server and a channel that are watched.
func (w *watch) pair(change func(*rig.Pair)) *rig.Started {
	pair := rig.Pair{TCP: true}
	pair.Server = []grpc.ServerOption{grpc.StatsHandler(watchStats{w, "server"}), opentelemetry.ServerOption(w.options)}
	pair.Dial = w.dialOptions()
	if change != nil {
		change(&pair)
	}
	if pair.Handlers.Stream == nil {
		pair.Handlers.Stream = w.echo
	}
	for _, o := range pair.Server {
		w.print("ServerOption", o)
	}
	for _, o := range pair.Dial {
		w.print("DialOption", o)
	}
	s := pair.Start(w.P)
	w.print("ClientConn", s.ClientConn)
	w.print("Server", s.Server)
	return s
}

// echo handles a stream.
func (w *watch) echo(s grpc.ServerStream) error {
	w.print("ServerStream", s)
	w.print("ServerTransportStream", grpc.ServerTransportStreamFromContext(s.Context()))
	w.see("context of a handler, printed", fmt.Sprint(s.Context()))
	for {
		m := new(rig.Msg)
		if err := s.RecvMsg(m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
}

func (w *watch) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithStatsHandler(watchStats{w, "client"}), opentelemetry.DialOption(w.options)}
}

// call makes a unary call and looks at its error.
func (w *watch) call(ctx context.Context, cc grpc.ClientConnInterface, opts ...grpc.CallOption) {
	for _, o := range opts {
		w.print("CallOption", o)
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := cc.Invoke(ctx, rig.Unary, rig.M("x"), new(rig.Msg), opts...); err != nil {
		w.Printf("call fails: %v", status.Code(err))
		if os.Getenv("PARITY_SHOW") != "" {
			fmt.Fprintln(os.Stderr, err)
		}
		w.print("error of a call", err)
	}
}

// finish looks at what is asked for in the end, and prints who saw what.
func (w *watch) finish() {
	probe.Settle(0) // all have seen what there is
	for _, span := range w.spans.GetSpans() {
		w.see("OpenTelemetry span", fmt.Sprintf("%+v", span))
	}
	var metrics metricdata.ResourceMetrics
	_ = w.reader.Collect(context.Background(), &metrics)
	w.see("OpenTelemetry metrics", fmt.Sprintf("%+v", metrics))
	for _, sensitive := range []bool{false, true} {
		w.see(fmt.Sprintf("x/net trace, sensitive=%v", sensitive), tracePages(sensitive))
	}
	w.see("channelz", channelzText())
	w.mu.Lock()
	lines := slices.Sorted(maps.Keys(w.seen))
	w.mu.Unlock()
	for _, line := range lines {
		w.Printf("%s", line)
	}
}

// tracePages are the pages of x/net/trace, each with all that it has.
func tracePages(sensitive bool) string {
	all := httptest.NewRecorder()
	for _, family := range []string{"grpc.Sent.Probe", "grpc.Recv.Probe", "grpc.Sent.probe.Probe", "grpc.Recv.probe.Probe"} {
		for bucket := -1; bucket < 9; bucket++ {
			r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/debug/requests?fam=%s&b=%d&exp=1", family, bucket), nil)
			nettrace.Render(all, r, sensitive)
		}
	}
	for _, family := range []string{"grpc.ClientConn", "grpc.Server"} {
		nettrace.RenderEvents(all, httptest.NewRequest(http.MethodGet, "/debug/events?fam="+family+"&b=0&exp=1", nil), sensitive)
	}
	return all.Body.String()
}

// channelzText is everything that channelz has.
func channelzText() string {
	l := rig.Listen()
	s := grpc.NewServer()
	channelz.RegisterChannelzServiceToServer(s)
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return ""
	}
	defer cc.Close()
	ctx, client := context.Background(), czpb.NewChannelzClient(cc)
	var all []string
	add := func(m proto.Message, _ error) { all = append(all, deep(m)) }
	channels, _ := client.GetTopChannels(ctx, &czpb.GetTopChannelsRequest{})
	servers, _ := client.GetServers(ctx, &czpb.GetServersRequest{})
	add(channels, nil)
	add(servers, nil)
	for id := range int64(60) {
		add(client.GetSubchannel(ctx, &czpb.GetSubchannelRequest{SubchannelId: id}))
		add(client.GetChannel(ctx, &czpb.GetChannelRequest{ChannelId: id}))
		add(client.GetSocket(ctx, &czpb.GetSocketRequest{SocketId: id}))
		add(client.GetServerSockets(ctx, &czpb.GetServerSocketsRequest{ServerId: id}))
	}
	return strings.Join(all, "\n")
}
