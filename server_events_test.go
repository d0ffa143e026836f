// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net/http"
	"runtime"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// TestEndTellsWhatTheHandlerSaid has a client leave before the handler returns: that what
// the handler says reaches nobody is not its failure.
func TestEndTellsWhatTheHandlerSaid(t *testing.T) {
	for name, said := range map[string]error{
		"success": nil,
		"failure": status.Error(codes.Aborted, "aborted"),
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			e := newEcho()
			e.stream = func(ss ServerStream) error {
				close(began)
				<-ss.Context().Done()
				return said
			}
			watch := newRecorder()
			c := connect(t, serve(t, e, StatsHandler(watch)))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
			<-began
			r.Cancel(context.Canceled)
			told := within(t, watch.ended, "stats.End")
			if err := told[len(told)-1].(*stats.End).Error; status.Code(err) != status.Code(said) {
				t.Errorf("told %v, said %v", err, said)
			}
		})
	}
}

// TestHandlerThatExits: the RPC of a handler that calls runtime.Goexit ends for those who watch
// it, as a failure; so does one whose panic net/http recovers.
func TestHandlerThatExits(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	exits := newEcho()
	exits.unary = func(context.Context, *text) (*text, error) { runtime.Goexit(); return nil, nil }
	exits.stream = func(ServerStream) error { runtime.Goexit(); return nil }
	panics := newEcho()
	panics.unary = func(context.Context, *text) (*text, error) { panic(http.ErrAbortHandler) }
	panics.stream = func(ServerStream) error { panic(http.ErrAbortHandler) }
	native := func(t *testing.T, e *echo, opts ...ServerOption) (string, *Server) {
		s := serve(t, e, opts...)
		return s.addr, s.Server
	}
	behindHTTP := func(t *testing.T, e *echo, opts ...ServerOption) (string, *Server) {
		s := NewServer(opts...)
		s.RegisterService(&echoDesc, e)
		t.Cleanup(s.Stop)
		return newHTTPServer(t, s.ServeHTTP), s
	}
	for name, test := range map[string]struct {
		start func(*testing.T, *echo, ...ServerOption) (string, *Server)
		echo  *echo
		opts  []ServerOption
	}{
		"goexit":                     {native, exits, nil},
		"goexit, workers":            {native, exits, []ServerOption{NumStreamWorkers(2)}},
		"goexit, interceptors":       {native, exits, []ServerOption{UnaryInterceptor(passUnary), StreamInterceptor(passStream)}},
		"goexit, behind net/http":    {behindHTTP, exits, nil},
		"panicking, behind net/http": {behindHTTP, panics, nil},
	} {
		t.Run(name, func(t *testing.T) {
			watch := newRecorder()
			addr, s := test.start(t, test.echo, append(test.opts, StatsHandler(watch))...)
			cc := newTestClient(t, addr)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := make(chan error, 2)
			go func() { calls <- call(ctx, cc, "x") }()
			wantExited(t, watch)
			go func() { calls <- downCall(ctx, cc) }()
			wantExited(t, watch)
			for range 2 {
				if err := within(t, calls, "the client"); status.Code(err) != codes.Internal {
					t.Errorf("the client is told %v", err)
				}
			}
			waitUntil(t, "channelz counts the ends", func() bool {
				d, _ := channelz.NodeByID(channelz.Server, s.channelz.ID())
				return d.CallsStarted == 2 && d.CallsFailed == 2 && d.CallsSucceeded == 0
			})
			s.GracefulStop()
		})
	}
}

// TestTapThatExits: so does the RPC of a tap that calls runtime.Goexit.
func TestTapThatExits(t *testing.T) {
	s := serve(t, newEcho(), InTapHandle(func(context.Context, *tap.Info) (context.Context, error) {
		runtime.Goexit()
		return nil, nil
	}))
	wantCode(t, "the call", call(testContext(t), newTestClient(t, s.addr), "x"), codes.Internal, errExited.Error())
	s.GracefulStop()
}

func wantExited(t *testing.T, watch *recorder) {
	t.Helper()
	told := within(t, watch.ended, "stats.End")
	if err := told[len(told)-1].(*stats.End).Error; status.Code(err) != codes.Internal {
		t.Errorf("stats.End has %v", err)
	}
}

func passUnary(ctx context.Context, req any, _ *UnaryServerInfo, next UnaryHandler) (any, error) {
	return next(ctx, req)
}

func passStream(srv any, ss ServerStream, _ *StreamServerInfo, next StreamHandler) error {
	return next(srv, ss)
}

// TestSendHeaderAfterCancel: whoever sends headers after the client has left learns that it
// has, and not that they were sent.
func TestSendHeaderAfterCancel(t *testing.T) {
	began, result := make(chan struct{}), make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		close(began)
		<-ss.Context().Done()
		_ = ss.SendMsg(new(text))
		result <- ss.SendHeader(metadata.Pairs("a", "b"))
		return nil
	}
	c := connect(t, serve(t, e))
	r := c.open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
	<-began
	r.Cancel(context.Canceled)
	wantCode(t, "SendHeader", within(t, result, "SendHeader"), codes.Canceled, "context canceled")
}
