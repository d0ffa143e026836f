// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

func TestServerTap(t *testing.T) {
	type key struct{}
	handle := func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if info.FullMethodName != "/test.Echo/Unary" {
			t.Errorf("FullMethodName = %q", info.FullMethodName)
		}
		switch v := info.Header.Get("x-do"); {
		case len(v) == 0:
			return context.WithValue(ctx, key{}, "tapped"), nil
		case v[0] == "plain":
			return nil, errors.New("refused")
		}
		return nil, status.Error(codes.ResourceExhausted, "later")
	}
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		return &text{Value: fmt.Sprint(ctx.Value(key{}))}, nil
	}
	c := connect(t, serve(t, e, InTapHandle(handle)))
	ctx := context.Background()
	c.unary(ctx, "").want(t, "tapped")
	c.unary(metadata.AppendToOutgoingContext(ctx, "x-do", "plain"), "").wantStatus(t, codes.PermissionDenied, "refused")
	c.unary(metadata.AppendToOutgoingContext(ctx, "x-do", "status"), "").wantStatus(t, codes.ResourceExhausted, "later")
}

// TestServerTapBound: a handler waits for its client no longer than the context lasts that the tap, or
// TagConn of a stats handler, returns. If it does not wait, the RPC goes on.
func TestServerTapBound(t *testing.T) {
	type bounded struct {
		name   string
		handle func(ServerStream) error
		want   codes.Code
	}
	receives := bounded{"receives", func(ss ServerStream) error { return ss.RecvMsg(new(text)) }, codes.DeadlineExceeded}
	goesOn := bounded{"goes on", func(ss ServerStream) error { <-ss.Context().Done(); return nil }, codes.OK}
	sends := bounded{"sends", func(ss ServerStream) error {
		for {
			if err := ss.SendMsg(&text{Value: strings.Repeat("x", 1<<16)}); err != nil {
				return err
			}
		}
	}, codes.DeadlineExceeded}
	for name, server := range map[string]struct {
		start func(*testing.T, *echo, ...ServerOption) *testServer
		calls []bounded
	}{
		"alone":           {func(t *testing.T, e *echo, o ...ServerOption) *testServer { return serve(t, e, o...) }, []bounded{receives, goesOn, sends}},
		"behind net/http": {serveHTTP, []bounded{receives, goesOn}},
	} {
		for _, tt := range server.calls {
			for who, bound := range bounds(t) {
				t.Run(name+"/"+who+"/"+tt.name, func(t *testing.T) {
					handled := make(chan error, 1)
					e := newEcho()
					e.stream = func(ss ServerStream) error {
						err := tt.handle(ss)
						handled <- err
						return err
					}
					c := connect(t, server.start(t, e, bound))
					r := c.open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
					wantCode(t, "the handler", within(t, handled, "the handler's end"), tt.want)
					for ok := true; ok; {
						_, ok = r.recv()
					}
					wantCode(t, "the client", r.Status().Err(), tt.want)
				})
			}
		}
	}
}

// bounds are options that shorten the contexts of RPCs.
func bounds(t *testing.T) map[string]ServerOption {
	bound := func(ctx context.Context, timeout time.Duration) context.Context { // long enough for the handler to begin
		ctx, cancel := context.WithTimeout(ctx, timeout)
		t.Cleanup(cancel)
		return ctx
	}
	return map[string]ServerOption{
		"tap":                   InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) { return bound(ctx, time.Second/2), nil }),
		"context of connection": StatsHandler(connTagger{tag: func(ctx context.Context) context.Context { return bound(ctx, 2*time.Second) }}),
	}
}

// connTagger gives connections a context.
type connTagger struct {
	quietStats
	tag func(context.Context) context.Context
}

func (c connTagger) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return c.tag(ctx)
}

// joined ends with another context than the one that it has its values of.
type joined struct {
	context.Context
	end context.Context
}

func (j joined) Done() <-chan struct{} { return j.end.Done() }

func (j joined) Err() error {
	if err := j.Context.Err(); err != nil {
		return err
	}
	return j.end.Err()
}

// TestServerTapBoundByJoined: the context's own methods may look at the RPC's context.
func TestServerTapBoundByJoined(t *testing.T) {
	end, cancel := context.WithCancel(context.Background())
	handled := make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		cancel()
		err := ss.RecvMsg(new(text))
		handled <- err
		return err
	}
	ts := serve(t, e, InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		return joined{ctx, end}, nil
	}))
	r := connect(t, ts).open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
	wantCode(t, "the handler", within(t, handled, "the handler's end"), codes.Canceled)
	for ok := true; ok; {
		_, ok = r.recv()
	}
	ts.Stop()
}

// TestServerTapUnbound: a context that outlasts its RPC does not keep it.
func TestServerTapUnbound(t *testing.T) {
	ctx := &countedContext{Context: context.Background(), done: make(chan struct{})}
	ts := serve(t, newEcho(), InTapHandle(func(context.Context, *tap.Info) (context.Context, error) { return ctx, nil }))
	connect(t, ts).unary(t.Context(), "x").want(t, "x")
	ts.GracefulStop()
	if n := ctx.registered.Load(); n != 0 {
		t.Errorf("%d functions are still registered", n)
	}
}

// countedContext counts the functions that its end would call.
type countedContext struct {
	context.Context
	done       chan struct{}
	registered atomic.Int32
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) AfterFunc(func()) func() bool {
	c.registered.Add(1)
	return func() bool { c.registered.Add(-1); return true }
}

// TestServerTapLate: nothing more of an RPC runs if the context that its tap returns has ended, and
// the client is told at once.
func TestServerTapLate(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name    string
		tap     func(context.Context) (context.Context, error)
		timeout time.Duration
		want    codes.Code
	}{
		{"the deadline passes", func(ctx context.Context) (context.Context, error) { <-ctx.Done(); return ctx, nil }, 2 * time.Second, codes.DeadlineExceeded},
		{"the deadline passes, with an error", func(ctx context.Context) (context.Context, error) { <-ctx.Done(); return nil, ctx.Err() }, 2 * time.Second, codes.DeadlineExceeded},
		{"it cancels", func(context.Context) (context.Context, error) { return cancelled, nil }, 0, codes.Canceled},
	} {
		for _, method := range []string{"/test.Echo/Unary", "/test.Echo/Bidi"} {
			t.Run(tt.name+method, func(t *testing.T) {
				ran := make(chan struct{}, 1)
				e := newEcho()
				e.unary = func(_ context.Context, m *text) (*text, error) { ran <- struct{}{}; return m, nil }
				e.stream = func(ServerStream) error { ran <- struct{}{}; return nil }
				events := &eventNames{}
				over := make(chan struct{}, 1)
				handle := func(ctx context.Context, _ *tap.Info) (context.Context, error) {
					defer func() { over <- struct{}{} }()
					return tt.tap(ctx)
				}
				ts := serve(t, e, InTapHandle(handle), StatsHandler(events))
				c := connect(t, ts)
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				c.open(ctx, transport.Call{Method: method}).wantEnd(tt.want, "")
				within(t, over, "the tap")
				ts.GracefulStop()
				if len(ran) > 0 || len(events.names) > 0 {
					t.Errorf("the handler ran %d times, and stats handlers were told %q", len(ran), events.names)
				}
			})
		}
	}
}

// lateContext is a context whose deadline has passed, and whose timer is late.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now().Add(-time.Microsecond), true }

// TestServerLateConnContext: no handler runs for an RPC that comes between a deadline that TagConn has given its
// connection and the timer of that.
func TestServerLateConnContext(t *testing.T) {
	late := StatsHandler(connTagger{tag: func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		t.Cleanup(cancel)
		return lateContext{ctx}
	}})
	for name, s := range map[string]*testServer{"alone": serve(t, newEcho(), late), "behind net/http": serveHTTP(t, newEcho(), late)} {
		t.Run(name, func(t *testing.T) {
			connect(t, s).unary(t.Context(), "x").wantStatus(t, codes.DeadlineExceeded, "context deadline exceeded")
		})
	}
}
