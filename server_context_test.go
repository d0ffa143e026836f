// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/stats"
)

// handlerContexts calls a server's unary and its streaming handler, whose contexts go to use.
func handlerContexts(ctx context.Context, t *testing.T, use func(context.Context), opts ...ServerOption) {
	t.Helper()
	opts = append(opts, ChainUnaryInterceptor(func(ctx context.Context, req any, _ *UnaryServerInfo, next UnaryHandler) (any, error) {
		use(ctx)
		return next(ctx, req)
	}))
	e := newEcho()
	e.stream = func(ss ServerStream) error { use(ss.Context()); return nil }
	cc := newTestClient(t, serve(t, e, opts...).addr)
	_ = cc.Invoke(ctx, unaryMethod, &text{}, new(text))
	if st, err := cc.NewStream(ctx, bidiStream, bidiMethod); err == nil {
		_ = st.RecvMsg(new(text))
	}
}

// TestHandlerContextType is what mocks look for: they are told the type of the context that
// a handler gets by its name.
func TestHandlerContextType(t *testing.T) {
	for name, opts := range map[string][]ServerOption{
		"plain": nil, "observed": {StatsHandler(quietStats{})},
	} {
		seen := make(chan string, 2)
		handlerContexts(testContext(t), t, func(ctx context.Context) { seen <- fmt.Sprintf("%T", ctx) }, opts...)
		for range 2 {
			if got, want := within(t, seen, "a handler"), "*context.valueCtx"; got != want {
				t.Errorf("%s: a handler's context is a %s, want %s", name, got, want)
			}
		}
	}
}

// quietStats is told of RPCs.
type quietStats struct{}

func (quietStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (quietStats) HandleConn(context.Context, stats.ConnStats)                       {}
func (quietStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (quietStats) HandleRPC(context.Context, stats.RPCStats)                         {}

type deepKey struct{}

// TestHandlerContextDerived has contexts derive from a handler's, and from values put
// around it: none may start a goroutine, all end when the call does, of the same.
func TestHandlerContextDerived(t *testing.T) {
	const many = 1000
	for name, opts := range map[string][]ServerOption{
		"plain": nil, "observed": {StatsHandler(quietStats{})},
	} {
		all := make(chan []context.Context, 2)
		handlerContexts(testContext(t), t, func(ctx context.Context) {
			derived := []context.Context{ctx}
			before := runtime.NumGoroutine()
			for range many {
				d, cancel := context.WithTimeout(context.WithValue(ctx, deepKey{}, 1), time.Hour)
				t.Cleanup(cancel)
				derived = append(derived, d)
			}
			if more := runtime.NumGoroutine() - before; more > many/10 { // others come and go
				t.Errorf("%s: %d contexts start %d goroutines", name, many, more)
			}
			all <- derived
		}, opts...)
		for range 2 {
			derived := within(t, all, "a handler")
			for _, d := range derived {
				<-d.Done()
				if got, want := d.Err(), derived[0].Err(); got != want {
					t.Fatalf("%s: a derived context ended with %v, want %v", name, got, want)
				}
			}
		}
	}
}

// printing prints the contexts that a stats handler gets.
type printing struct {
	quietStats
	use func(context.Context)
}

func (p printing) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	p.use(ctx)
	return ctx
}
func (p printing) HandleRPC(ctx context.Context, _ stats.RPCStats) { p.use(ctx) }

// TestContextsPrint: fmt shows what a call's context is, and none of its fields, which others write meanwhile.
func TestContextsPrint(t *testing.T) {
	use := func(ctx context.Context) {
		if got := fmt.Sprint(ctx); !strings.HasPrefix(got, "context") || strings.Contains(got, "0x") {
			t.Errorf("%T prints as %.200s", ctx, got)
		}
	}
	handlerContexts(testContext(t), t, use)
	handlerContexts(testContext(t), t, use, StatsHandler(printing{use: use}))
	cc := newTestClient(t, serve(t, newEcho()).addr, WithStatsHandler(printing{use: use}))
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Error(err)
	}
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	use(st.Context())
	_ = st.CloseSend()
	for st.RecvMsg(new(text)) == nil {
	}
	use(st.Context())
}
