// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
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
		{"the deadline passes", func(ctx context.Context) (context.Context, error) { <-ctx.Done(); return ctx, nil }, 50 * time.Millisecond, codes.DeadlineExceeded},
		{"the deadline passes, with an error", func(ctx context.Context) (context.Context, error) { <-ctx.Done(); return nil, ctx.Err() }, 50 * time.Millisecond, codes.DeadlineExceeded},
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
