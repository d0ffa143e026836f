// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// recorder keeps the events of one RPC at a time, and those of connections.
type recorder struct {
	mu      sync.Mutex
	events  []stats.RPCStats
	ended   chan []stats.RPCStats
	conns   chan stats.ConnStats
	wrongly []string
}

type (
	connKey struct{}
	rpcKey  struct{}
)

func newRecorder() *recorder {
	return &recorder{ended: make(chan []stats.RPCStats, 1), conns: make(chan stats.ConnStats, 16)}
}

func (r *recorder) TagConn(ctx context.Context, i *stats.ConnTagInfo) context.Context {
	if i.RemoteAddr == nil || i.LocalAddr == nil {
		r.wrong("TagConn without addresses")
	}
	return context.WithValue(ctx, connKey{}, true)
}

func (r *recorder) HandleConn(ctx context.Context, e stats.ConnStats) {
	if ctx.Value(connKey{}) == nil {
		r.wrong("%T without TagConn's context", e)
	}
	r.conns <- e
}

func (r *recorder) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	if ctx.Value(connKey{}) == nil {
		r.wrong("TagRPC without TagConn's context")
	}
	return context.WithValue(ctx, rpcKey{}, i.FullMethodName)
}

func (r *recorder) HandleRPC(ctx context.Context, e stats.RPCStats) {
	if ctx.Value(rpcKey{}) == nil {
		r.wrong("%T without TagRPC's context", e)
	}
	if e.IsClient() {
		r.wrong("%T of a client", e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if _, last := e.(*stats.End); last {
		r.ended <- r.events
		r.events = nil
	}
}

func (r *recorder) wrong(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrongly = append(r.wrongly, fmt.Sprintf(format, a...))
}

// names are the kinds of events, in order.
func names(events []stats.RPCStats) string {
	var list []string
	for _, e := range events {
		list = append(list, strings.TrimPrefix(fmt.Sprintf("%T", e), "*stats."))
	}
	return strings.Join(list, " ")
}

func event[E any](t *testing.T, events []stats.RPCStats) (x E) {
	t.Helper()
	for _, e := range events {
		if x, ok := e.(E); ok {
			return x
		}
	}
	t.Fatalf("there is no %T among %s", x, names(events))
	return x
}

func TestServerStatsUnary(t *testing.T) {
	rec := newRecorder()
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		if ctx.Value(rpcKey{}) != "/test.Echo/Unary" {
			t.Errorf("the handler's context has %v", ctx.Value(rpcKey{}))
		}
		if err := SetHeader(ctx, metadata.Pairs("x-h", "1")); err != nil {
			t.Error(err)
		}
		if err := SetTrailer(ctx, metadata.Pairs("x-t", "2")); err != nil {
			t.Error(err)
		}
		return m, nil
	}
	ts := serve(t, e, StatsHandler(rec), StatsHandler(nil))
	c := connect(t, ts)
	call := transport.Call{Method: "/test.Echo/Unary", SendCompressor: "gzip"}
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-in", "0")
	long := strings.Repeat("x", 1000)
	gz := compressorFrom(NewGZIPCompressor())
	c.unaryCall(ctx, call, payload(t, long, gz)).want(t, long)
	events := within(t, rec.ended, "End")
	if got, want := names(events), "InHeader Begin InPayload OutHeader OutPayload OutTrailer End"; got != want {
		t.Fatalf("events = %s, want %s", got, want)
	}
	in := event[*stats.InHeader](t, events)
	if in.FullMethod != "/test.Echo/Unary" || in.Compression != "gzip" || in.RemoteAddr == nil || in.LocalAddr == nil ||
		in.Header.Get("x-in")[0] != "0" || in.WireLength <= 0 {
		t.Errorf("InHeader = %+v", in)
	}
	if b := event[*stats.Begin](t, events); b.BeginTime.IsZero() || b.IsClientStream || b.IsServerStream {
		t.Errorf("Begin = %+v", b)
	}
	ip := event[*stats.InPayload](t, events)
	if ip.Length != 1003 || ip.CompressedLength >= 1003 || ip.WireLength != ip.CompressedLength+5 || ip.RecvTime.IsZero() || ip.Payload.(*text).Value != long {
		t.Errorf("InPayload = %+v", ip)
	}
	if h := event[*stats.OutHeader](t, events); h.Compression != "gzip" || h.Header.Get("x-h")[0] != "1" {
		t.Errorf("OutHeader = %+v", h)
	}
	op := event[*stats.OutPayload](t, events)
	if op.Length != 1003 || op.CompressedLength >= 1003 || op.WireLength != op.CompressedLength+5 || op.SentTime.IsZero() || op.Payload.(*text).Value != long {
		t.Errorf("OutPayload = %+v", op)
	}
	if tr := event[*stats.OutTrailer](t, events); tr.Trailer.Get("x-t")[0] != "2" {
		t.Errorf("OutTrailer = %+v", tr)
	}
	if end := event[*stats.End](t, events); end.Error != nil || end.EndTime.Before(end.BeginTime) {
		t.Errorf("End = %+v", end)
	}
	c.Close(errors.New("enough"))
	if _, ok := within(t, rec.conns, "ConnBegin").(*stats.ConnBegin); !ok {
		t.Error("the first event of the connection is not ConnBegin")
	}
	if _, ok := within(t, rec.conns, "ConnEnd").(*stats.ConnEnd); !ok {
		t.Error("the last event of the connection is not ConnEnd")
	}
	ts.Stop()
	for _, w := range rec.wrongly {
		t.Error(w)
	}
}

func TestServerStatsOrder(t *testing.T) {
	rec := newRecorder()
	e := newEcho()
	c := connect(t, serve(t, e, StatsHandler(rec)))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	for range 2 {
		r.send("x")
		r.recv()
	}
	r.closeSend()
	r.wantEnd(codes.OK, "")
	events := within(t, rec.ended, "End")
	if got, want := names(events), "InHeader Begin InPayload OutHeader OutPayload InPayload OutPayload OutTrailer End"; got != want {
		t.Errorf("bidi: events = %s, want %s", got, want)
	}
	if b := event[*stats.Begin](t, events); !b.IsClientStream || !b.IsServerStream {
		t.Errorf("Begin = %+v", b)
	}

	e.unary = func(ctx context.Context, m *text) (*text, error) {
		return nil, errors.Join(SendHeader(ctx, nil), status.Error(codes.Aborted, "no"))
	}
	c.unary(context.Background(), "x").wantStatus(t, codes.Aborted, "")
	events = within(t, rec.ended, "End")
	if got, want := names(events), "InHeader Begin InPayload OutHeader OutTrailer End"; got != want {
		t.Errorf("error after headers: events = %s, want %s", got, want)
	}
	if end := event[*stats.End](t, events); status.Code(end.Error) != codes.Aborted {
		t.Errorf("End = %+v", end)
	}

	e.unary = func(context.Context, *text) (*text, error) { return nil, context.DeadlineExceeded }
	c.unary(context.Background(), "x").wantStatus(t, codes.DeadlineExceeded, "")
	events = within(t, rec.ended, "End")
	if got, want := names(events), "InHeader Begin InPayload OutTrailer End"; got != want {
		t.Errorf("error: events = %s, want %s", got, want)
	}
	if end := event[*stats.End](t, events); status.Code(end.Error) != codes.DeadlineExceeded {
		t.Errorf("End = %+v", end)
	}

	// An RPC of a method that nobody serves has no Begin and no End.
	c.unaryCall(context.Background(), transport.Call{Method: "/no/Body"}, payload(t, "", nil)).wantStatus(t, codes.Unimplemented, "")
	c.unary(context.Background(), "x").wantStatus(t, codes.DeadlineExceeded, "")
	events = within(t, rec.ended, "End")
	if got := names(events); strings.Count(got, "InHeader") != 2 || strings.Count(got, "Begin") != 1 || strings.Count(got, "End") != 1 {
		t.Errorf("unknown method: events = %s", got)
	}
}

func TestServerStatsSeveralHandlers(t *testing.T) {
	a, b := newRecorder(), newRecorder()
	c := connect(t, serve(t, newEcho(), StatsHandler(a), StatsHandler(b)))
	c.unary(context.Background(), "x").want(t, "x")
	if x, y := names(within(t, a.ended, "End")), names(within(t, b.ended, "End")); x != y {
		t.Errorf("one handler saw %s, the other %s", x, y)
	}
}

// The functions of the context have to work for an observed call too.
func TestServerStatsContext(t *testing.T) {
	rec := newRecorder()
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		if name, ok := MethodFromServerStream(ss); !ok || name != "/test.Echo/Bidi" {
			t.Errorf("Method = %q, %v", name, ok)
		}
		var p PreparedMsg
		if err := p.Encode(ss, &text{Value: "p"}); err != nil {
			t.Error(err)
		}
		if err := SetSendCompressor(ss.Context(), "gzip"); err != nil {
			t.Error(err)
		}
		got, err := ClientSupportedCompressors(ss.Context())
		if err != nil || !slices.Equal(got, []string{"gzip"}) {
			t.Errorf("ClientSupportedCompressors = %v, %v", got, err)
		}
		return ss.SendMsg(&p)
	}
	c := connect(t, serve(t, e, StatsHandler(rec)))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi", AcceptCompressors: "gzip"})
	if got, ok := r.recv(); !ok || got != "p" {
		t.Errorf("got %q, %v", got, ok)
	}
	r.wantEnd(codes.OK, "")
	within(t, rec.ended, "End")
}

// overseer is told of RPCs that are over without an End.
type overseer struct {
	*recorder
	over chan string
}

func (o overseer) RPCOver(ctx context.Context) { o.over <- ctx.Value(rpcKey{}).(string) }

// TestOverseer: an RPC has an End, or an overseer is told that it is over.
func TestOverseer(t *testing.T) {
	o := overseer{newRecorder(), make(chan string, 1)}
	c := connect(t, serve(t, newEcho(), StatsHandler(o)))
	r := c.open(t.Context(), transport.Call{Method: "/test.Echo/None"})
	if st := r.end(); st.Code() != codes.Unimplemented {
		t.Error(st)
	}
	if method := within(t, o.over, "the end"); method != "/test.Echo/None" {
		t.Errorf("%s is over", method)
	}
	r = c.open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
	r.CloseSend()
	r.end()
	within(t, o.ended, "stats.End")
	if len(o.over) > 0 {
		t.Errorf("%s has an End, and is over", <-o.over)
	}
}
