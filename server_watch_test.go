// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// serverSink keeps what servers log.
type serverSink struct {
	logged
	ended chan struct{} // has one for each call that has ended
}

func (s *serverSink) Write(e *pb.GrpcLogEntry) error {
	if e.Logger != pb.GrpcLogEntry_LOGGER_SERVER {
		return nil
	}
	s.add(e)
	switch e.Type {
	case pb.GrpcLogEntry_EVENT_TYPE_SERVER_TRAILER, pb.GrpcLogEntry_EVENT_TYPE_CANCEL:
		s.ended <- struct{}{}
	}
	return nil
}

// take returns the entries of the call that has ended, and their types.
func (s *serverSink) take(t *testing.T) (entries []*pb.GrpcLogEntry, types string) {
	t.Helper()
	within(t, s.ended, "the end")
	return s.logged.take()
}

// replyContexts keeps what is wrong with the contexts of a unary reply's events.
type replyContexts struct{ told chan string }

func (replyContexts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (replyContexts) HandleConn(context.Context, stats.ConnStats)                       {}

type replyTag struct{}

func (replyContexts) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, replyTag{}, true)
}

func (r replyContexts) HandleRPC(ctx context.Context, s stats.RPCStats) {
	method, _ := Method(ctx)
	_, deadline := ctx.Deadline()
	said := fmt.Sprintf("%T %v %s %v %v", s, ctx.Err(), method, deadline, ctx.Value(replyTag{}))
	switch s.(type) {
	case *stats.OutHeader, *stats.OutPayload, *stats.OutTrailer:
		r.told <- said
	}
}

// TestContextsOfAReply: the reply that ends a call is told with a context that has not ended, but for
// its trailers.
func TestContextsOfAReply(t *testing.T) {
	r := replyContexts{make(chan string, 3)}
	s := serve(t, newEcho(), StatsHandler(r))
	cc := newTestClient(t, s.addr)
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
	for _, want := range []string{"OutHeader <nil>", "OutPayload <nil>", "OutTrailer context canceled"} {
		if got, want := within(t, r.told, want), "*stats."+want+" "+unaryMethod+" true true"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestServerBinaryLog(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := &serverSink{ended: make(chan struct{}, 1)}
	binarylog.SetSink(sink)
	defer binarylog.SetSink(nil)
	e := newEcho()
	c := connect(t, serve(t, e))
	gz := compressorFrom(NewGZIPCompressor())
	long := strings.Repeat("x", 100)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-in", "1")
	c.unaryCall(ctx, transport.Call{Method: "/test.Echo/Unary", SendCompressor: "gzip"}, payload(t, long, gz)).want(t, long)
	entries, types := sink.take(t)
	if want := "CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE SERVER_TRAILER"; types != want {
		t.Fatalf("entries = %s, want %s", types, want)
	}
	h := entries[0]
	if h.GetClientHeader().GetMethodName() != "/test.Echo/Unary" || h.GetClientHeader().GetAuthority() != "test.server" || h.GetPeer().GetIpPort() == 0 {
		t.Errorf("client header = %v", h)
	}
	for _, e := range entries {
		if m := e.GetMessage(); m != nil && (m.Length != 102 || !strings.Contains(string(m.Data), long)) {
			t.Errorf("message = %v", e)
		}
	}

	r := c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
	r.send("a")
	r.recv()
	r.closeSend()
	r.wantEnd(codes.OK, "")
	if _, types := sink.take(t); types != "CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE CLIENT_HALF_CLOSE SERVER_TRAILER" {
		t.Errorf("entries = %s", types)
	}

	e.unary = func(context.Context, *text) (*text, error) { return nil, status.Error(codes.Aborted, "no") }
	c.unary(ctx, "x").wantStatus(t, codes.Aborted, "no")
	entries, types = sink.take(t)
	if types != "CLIENT_HEADER CLIENT_MESSAGE SERVER_TRAILER" {
		t.Errorf("entries = %s", types)
	}
	if tr := entries[len(entries)-1].GetTrailer(); tr.GetStatusCode() != uint32(codes.Aborted) || tr.GetStatusMessage() != "no" {
		t.Errorf("trailer = %v", tr)
	}

	e.unary = func(ctx context.Context, in *text) (*text, error) {
		_ = SetHeader(ctx, metadata.Pairs("x y", "1")) // cannot be sent, and so the reply neither
		return in, nil
	}
	c.unary(ctx, "x").wantStatus(t, codes.Internal, `header key "x y" contains illegal characters not in [0-9a-z-_.]`)
	if _, types = sink.take(t); !strings.HasPrefix(types, "CLIENT_HEADER CLIENT_MESSAGE ") || !strings.HasSuffix(types, "SERVER_TRAILER") {
		t.Errorf("entries = %s", types)
	}

	received := make(chan struct{})
	bidi := e.stream
	e.stream = func(ss ServerStream) error {
		go func() { // is cut off when the handler returns, which is no cancellation
			defer close(received)
			_ = ss.RecvMsg(new(text))
		}()
		return nil
	}
	r = c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
	r.wantEnd(codes.OK, "")
	within(t, received, "the receive")
	e.stream = bidi
	if _, types := sink.take(t); types != "CLIENT_HEADER SERVER_TRAILER" {
		t.Errorf("entries = %s", types)
	}

	ctx, cancel := context.WithCancel(ctx)
	r = c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
	r.send("a")
	r.recv()
	cancel()
	r.wantEnd(codes.Canceled, "")
	if _, types := sink.take(t); types != "CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE CANCEL" {
		t.Errorf("entries = %s", types)
	}
}

// TestServerBinaryLogOfEndedContext: the log has the end of an RPC that the client is told, also if the context has ended
// that TagConn has given the connection.
func TestServerBinaryLogOfEndedContext(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := &serverSink{ended: make(chan struct{}, 1)}
	binarylog.SetSink(sink)
	defer binarylog.SetSink(nil)
	var cancel context.CancelFunc
	e := newEcho()
	e.unary = func(_ context.Context, in *text) (*text, error) { cancel(); return in, nil }
	c := connect(t, serve(t, e, StatsHandler(connTagger{tag: func(ctx context.Context) context.Context {
		ctx, cancel = context.WithCancel(ctx)
		return ctx
	}})))
	c.unary(t.Context(), "x").want(t, "x")
	if _, types := sink.take(t); types != "CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE SERVER_TRAILER" {
		t.Errorf("entries = %s", types)
	}
}

func TestServerChannelz(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	e, b := newBlocked()
	ts := serve(t, e)
	c := connectSecure(t, ts, nil)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	r.send("x")
	r.closeSend()
	within(t, b.began, "the handler")
	c.unaryCall(context.Background(), transport.Call{Method: "/no/Body"}, payload(t, "", nil)).wantStatus(t, codes.Unimplemented, "")
	servers, _ := channelz.Servers(channelz.Page{})
	if len(servers) != 1 || !strings.Contains(servers[0].Name, "server_harness_test.go:") || len(servers[0].Sockets) != 1 {
		t.Fatalf("servers = %+v", servers)
	}
	// One of a method that nobody serves does not count.
	if s := servers[0]; s.CallsStarted != 1 || s.CallsSucceeded != 0 {
		t.Errorf("server = %+v", s)
	}
	sockets, _ := channelz.ServerSockets(servers[0].ID, channelz.Page{})
	if len(sockets) != 1 {
		t.Fatalf("sockets = %+v", sockets)
	}
	if d := channelz.SocketByID(sockets[0].ID).Data(); d.LocalAddr == nil || d.RemoteAddr == nil {
		t.Errorf("socket = %+v", d)
	}
	close(b.released)
	r.recv()
	r.wantEnd(codes.OK, "")
	c.Close(errors.New("enough"))
	ts.GracefulStop() // waits for the handlers
	if _, ok := channelz.NodeByID(channelz.Server, servers[0].ID); ok {
		t.Error("the server is still there")
	}
	if channelz.SocketByID(sockets[0].ID) != nil {
		t.Error("the connection is still there")
	}
}

// TestNothingIsLoggedAfterTheEnd: behind net/http, which sends headers in any case, and where a handler exits.
func TestNothingIsLoggedAfterTheEnd(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	for name, start := range map[string]func(*testing.T, *echo, ...ServerOption) *testServer{
		"alone":           func(t *testing.T, e *echo, opts ...ServerOption) *testServer { return serve(t, e, opts...) },
		"behind net/http": serveHTTP,
	} {
		for how, handle := range map[string]func() error{
			"fails": func() error { return status.Error(codes.Aborted, "no") },
			"exits": func() error { runtime.Goexit(); return nil },
		} {
			sink := &serverSink{ended: make(chan struct{}, 10)}
			binarylog.SetSink(sink)
			e := newEcho()
			e.unary = func(context.Context, *text) (*text, error) { return nil, handle() }
			e.stream = func(ServerStream) error { return handle() }
			ts := start(t, e)
			cc := newTestClient(t, ts.addr)
			for kind, do := range map[string]func(context.Context, *ClientConn) error{
				"unary":  func(ctx context.Context, cc *ClientConn) error { return call(ctx, cc, "x") },
				"stream": downCall,
			} {
				if err := do(testContext(t), cc); err == nil {
					t.Errorf("%s, %s, %s: no error", name, how, kind)
				}
				if _, types := sink.take(t); !strings.HasSuffix(types, " SERVER_TRAILER") {
					t.Errorf("%s, %s, %s: %s", name, how, kind, types)
				}
			}
			ts.Stop()
			if _, types := sink.logged.take(); types != "" {
				t.Errorf("%s, %s, behind the ends: %s", name, how, types)
			}
		}
	}
	binarylog.SetSink(nil)
}
