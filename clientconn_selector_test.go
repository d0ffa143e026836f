// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// selectFunc is a user's Selector.
type selectFunc struct {
	f func(ctx context.Context, method string) (rpcconfig.Choice, error)
}

func (s *selectFunc) Select(ctx context.Context, method string, _ *ctxkey.Outgoing) (rpcconfig.Choice, error) {
	return s.f(ctx, method)
}

// selecting makes a channel to s whose resolver brings a Selector.
func selecting(t testing.TB, s *testServer, f func(context.Context, string) (rpcconfig.Choice, error), opts ...DialOption) (*ClientConn, *manual.Resolver) {
	t.Helper()
	r := manual.NewBuilderWithScheme("selecting")
	r.InitialState(stateWith(s, f))
	return newTestClient(t, "selecting:///x", append(opts, WithResolvers(r))...), r
}

func stateWith(s *testServer, f func(context.Context, string) (rpcconfig.Choice, error)) resolver.State {
	return rpcconfig.WithSelector(resolver.State{Addresses: []resolver.Address{{Addr: s.addr}}}, &selectFunc{f})
}

// serving is a server that has served: it may be stopped.
func serving(t *testing.T) *testServer {
	t.Helper()
	s := serve(t, newEcho())
	if err := call(testContext(t), newTestClient(t, s.addr), "hello"); err != nil {
		t.Fatal(err)
	}
	return s
}

// sayLong invokes with a message of 100 bytes and more.
func sayLong(ctx context.Context, cc *ClientConn) error {
	return call(ctx, cc, fmt.Sprintf("%100d", 1))
}

func TestSelectorChoosesMethodConfig(t *testing.T) {
	s := serve(t, newEcho())
	small := 10
	cc, _ := selecting(t, s, func(ctx context.Context, method string) (c rpcconfig.Choice, err error) {
		if md, _ := metadata.FromOutgoingContext(ctx); method == unaryMethod && len(md["small"]) > 0 {
			c.Method.MaxReqSize = &small
		}
		return c, nil
	})
	if err := sayLong(testContext(t), cc); err != nil {
		t.Error(err)
	}
	ctx := metadata.AppendToOutgoingContext(testContext(t), "small", "1")
	if err := sayLong(ctx, cc); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v, want ResourceExhausted", err)
	}
}

// taggedContext notes the contexts in which attempts begin.
type taggedContext struct {
	stats.Handler
	mu   sync.Mutex
	seen []any
}

func (h *taggedContext) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, ctx.Value(clusterKey{}))
	return ctx
}
func (*taggedContext) HandleRPC(context.Context, stats.RPCStats) {}
func (*taggedContext) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}
func (*taggedContext) HandleConn(context.Context, stats.ConnStats) {}

type clusterKey struct{}

func TestSelectorAddsToContext(t *testing.T) {
	s := serve(t, newEcho())
	h := &taggedContext{}
	cc, _ := selecting(t, s, func(ctx context.Context, method string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{Context: context.WithValue(ctx, clusterKey{}, "cluster of "+method)}, nil
	}, WithStatsHandler(h))
	if err := call(testContext(t), cc, "hello"); err != nil {
		t.Fatal(err)
	}
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if got := st.Context().Value(clusterKey{}); got != "cluster of "+bidiMethod {
		t.Errorf("the stream's context has %v", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) != 2 || h.seen[0] != "cluster of "+unaryMethod || h.seen[1] != "cluster of "+bidiMethod {
		t.Errorf("attempts began with %v", h.seen)
	}
}

// TestSelectorCommit: the callback comes once, after the last attempt has begun, whatever
// becomes of the RPC.
func TestSelectorCommit(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failures int32 // attempts that the server fails
		method   string
		code     codes.Code
	}{
		{"unary", 0, unaryMethod, codes.OK},
		{"unary retried", 2, unaryMethod, codes.OK},
		{"unary failed", 9, unaryMethod, codes.Unavailable},
		{"stream", 0, bidiMethod, codes.OK},
		{"stream retried", 2, bidiMethod, codes.OK},
		{"stream failed", 9, bidiMethod, codes.Unavailable},
		{"unknown", 0, "/test.Echo/None", codes.Unimplemented},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var attempts, commits, late atomic.Int32
			fail := func() error {
				if commits.Load() > 0 {
					late.Add(1)
				}
				if attempts.Add(1) <= tt.failures {
					return status.Error(codes.Unavailable, "again")
				}
				return nil
			}
			e := newEcho()
			echoed := e.stream
			e.unary = func(_ context.Context, m *text) (*text, error) { return m, fail() }
			e.stream = func(ss ServerStream) error {
				if err := fail(); err != nil {
					return err
				}
				return echoed(ss)
			}
			cc, _ := selecting(t, serve(t, e), func(context.Context, string) (rpcconfig.Choice, error) {
				return rpcconfig.Choice{
					Method: serviceconfig.MethodConfig{RetryPolicy: &serviceconfig.RetryPolicy{
						MaxAttempts: 4, InitialBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond, BackoffMultiplier: 1,
						RetryableStatusCodes: map[codes.Code]bool{codes.Unavailable: true},
					}},
					Committed: func() { commits.Add(1) },
				}, nil
			})
			err := oneRPC(testContext(t), cc, tt.method)
			if status.Code(err) != tt.code {
				t.Errorf("%v, want %v", err, tt.code)
			}
			if n := commits.Load(); n != 1 || late.Load() > 0 {
				t.Errorf("%d commits, %d attempts after one", n, late.Load())
			}
		})
	}
}

// oneRPC makes an RPC of one message and its echo, to its end.
func oneRPC(ctx context.Context, cc *ClientConn, method string) error {
	if method != bidiMethod {
		return cc.Invoke(ctx, method, &text{}, new(text))
	}
	st, err := cc.NewStream(ctx, bidiStream, method)
	if err != nil {
		return err
	}
	if err := st.SendMsg(&text{}); err != nil && err != io.EOF {
		return err
	}
	return closeAndReceive(st)
}

// closeAndReceive ends the client's side of a stream, and receives what comes until the stream's end.
func closeAndReceive(st ClientStream) error {
	_ = st.CloseSend()
	for {
		if err := st.RecvMsg(new(text)); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestSelectorCommitWithoutAttempt(t *testing.T) {
	s := serving(t)
	var commits atomic.Int32
	cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{Committed: func() { commits.Add(1) }}, nil
	})
	wrong := UseCompressor("nobody has it")
	if err := call(testContext(t), cc, "x", wrong); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	if _, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, wrong); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	if n := commits.Load(); n != 2 {
		t.Errorf("%d commits of 2 RPCs", n)
	}
}

func TestSelectorError(t *testing.T) {
	s := serving(t)
	for _, tt := range []struct {
		err  error
		want codes.Code
		text string
	}{
		{status.Error(codes.Unavailable, "no route"), codes.Unavailable, "no route"},
		{status.Error(codes.Unauthenticated, "who?"), codes.Unauthenticated, "who?"},
		{status.Error(codes.NotFound, "gone"), codes.Internal, "config selector returned illegal status: rpc error: code = NotFound desc = gone"},
		{status.Error(codes.DataLoss, "lost"), codes.Internal, "config selector returned illegal status: rpc error: code = DataLoss desc = lost"},
		{errors.New("plain"), codes.Unknown, "plain"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "context deadline exceeded"},
	} {
		cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
			return rpcconfig.Choice{Interceptor: &filter{}, Committed: func() { t.Error("committed") }}, tt.err
		})
		_, streamErr := cc.NewStream(testContext(t), bidiStream, bidiMethod)
		for _, err := range []error{call(testContext(t), cc, "x"), streamErr} {
			if st := status.Convert(err); st.Code() != tt.want || st.Message() != tt.text {
				t.Errorf("%v: the RPC fails with %v", tt.err, err)
			}
		}
	}
}

// filter is a user's Interceptor.
type filter struct {
	name   string
	before error // in place of the RPC
	after  error // once it has begun
	again  bool
}

func (f *filter) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	if f.before != nil {
		return nil, f.before
	}
	s, err := next(metadata.AppendToOutgoingContext(ctx, "filter", f.name+" "+rpc.Method))
	if f.again {
		_, err = next(ctx)
	}
	if f.after != nil {
		err = f.after
	}
	return &filtered{Stream: s, name: f.name}, err
}

// filtered changes the messages that come.
type filtered struct {
	rpcconfig.Stream
	name string
}

func (f *filtered) RecvMsg(m any) error {
	err := f.Stream.RecvMsg(m)
	if err == nil {
		m.(*text).Value += " through " + f.name
	}
	return err
}

func TestSelectorInterceptors(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		return &text{Value: fmt.Sprint(m.Value, md["filter"])}, nil
	}
	var commits atomic.Int32
	cc, _ := selecting(t, serve(t, e), func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{
			Interceptor: rpcconfig.Chain(&filter{name: "a"}, &filter{name: "b"}),
			Committed:   func() { commits.Add(1) },
		}, nil
	})
	out := new(text)
	if err := cc.Invoke(testContext(t), unaryMethod, &text{Value: "hello"}, out); err != nil {
		t.Fatal(err)
	}
	if want := "hello[a /test.Echo/Unary b /test.Echo/Unary] through b through a"; out.Value != want {
		t.Errorf("%q, want %q", out.Value, want)
	}
	if err := oneRPC(testContext(t), cc, bidiMethod); err != nil {
		t.Error(err)
	}
	if n := commits.Load(); n != 2 {
		t.Errorf("%d commits of 2 RPCs", n)
	}
}

func TestSelectorInterceptorFails(t *testing.T) {
	s := serving(t)
	for _, tt := range []struct {
		name string
		f    filter
		want codes.Code
	}{
		{"before", filter{before: status.Error(codes.Aborted, "fault")}, codes.Aborted},
		{"after", filter{after: status.Error(codes.Aborted, "fault")}, codes.Aborted},
		{"no status", filter{before: errors.New("fault")}, codes.Unknown},
		{"again", filter{again: true}, codes.Internal},
	} {
		var commits atomic.Int32
		cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
			return rpcconfig.Choice{Interceptor: &tt.f, Committed: func() { commits.Add(1) }}, nil
		}, WithIdleTimeout(time.Hour))
		var finished atomic.Int32
		onFinish := OnFinish(func(error) { finished.Add(1) })
		if err := call(testContext(t), cc, "x", onFinish); status.Code(err) != tt.want {
			t.Errorf("%s: unary: %v, want %v", tt.name, err, tt.want)
		}
		if _, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, onFinish); status.Code(err) != tt.want {
			t.Errorf("%s: stream: %v, want %v", tt.name, err, tt.want)
		}
		if commits.Load() != 2 || finished.Load() != 2 {
			t.Errorf("%s: %d commits and %d ends of 2 RPCs", tt.name, commits.Load(), finished.Load())
		}
	}
}

// silent is a user's Interceptor whose stream ends without a message.
type silent struct{ rpcconfig.Stream }

func (silent) Begin(ctx context.Context, _ rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	s, err := next(ctx)
	return silent{s}, err
}

func (s silent) RecvMsg(m any) error {
	if err := s.Stream.RecvMsg(m); err != nil {
		return err
	}
	return io.EOF
}

// TestSelectorInterceptorKeepsReply: io.EOF is no status of a unary RPC.
func TestSelectorInterceptorKeepsReply(t *testing.T) {
	cc, _ := selecting(t, serving(t), func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{Interceptor: silent{}}, nil
	})
	err := call(testContext(t), cc, "x")
	if st, ok := status.FromError(err); !ok || st.Code() != codes.Internal || !strings.Contains(st.Message(), "no response") {
		t.Errorf("%v, want Internal that names the missing response", err)
	}
}

// TestSelectorReplaced: once UpdateState has returned nobody asks the Selector before, and
// no RPC is lost over it.
func TestSelectorReplaced(t *testing.T) {
	s := serve(t, newEcho())
	var current atomic.Int32
	generation := func(n int32) resolver.State {
		return stateWith(s, func(context.Context, string) (rpcconfig.Choice, error) {
			if now := current.Load(); n < now {
				t.Errorf("Selector %d was asked after %d had taken its place", n, now)
			}
			return rpcconfig.Choice{}, nil
		})
	}
	r := manual.NewBuilderWithScheme("selecting")
	r.InitialState(generation(0))
	cc := newTestClient(t, "selecting:///x", WithResolvers(r))
	ctx, stop := context.WithCancel(testContext(t))
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if err := call(ctx, cc, "x"); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	if err := call(ctx, cc, "first"); err != nil {
		t.Error(err)
	}
	for n := int32(1); n <= 50; n++ {
		r.UpdateState(generation(n))
		current.Store(n)
	}
	stop()
	callers.Wait()
}

// TestSelectorGoes: without a Selector the service config decides again.
func TestSelectorGoes(t *testing.T) {
	s := serve(t, newEcho())
	cc, r := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{}, status.Error(codes.Unavailable, "the Selector was asked")
	})
	if err := call(testContext(t), cc, "x"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	r.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: s.addr}}})
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Error(err)
	}
	ignoring, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{}, status.Error(codes.Unavailable, "the Selector was asked")
	}, WithDisableServiceConfig())
	if err := call(testContext(t), ignoring, "x"); err != nil {
		t.Errorf("with service configs off: %v", err)
	}
}

// TestSelectorIdle: a channel that goes idle forgets its resolver's Selector, and asks the
// next one.
func TestSelectorIdle(t *testing.T) {
	s := serve(t, newEcho())
	var asked atomic.Int32
	first := func(context.Context, string) (rpcconfig.Choice, error) { asked.Add(1); return rpcconfig.Choice{}, nil }
	cc, r := selecting(t, s, first, WithIdleTimeout(time.Millisecond))
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	for state := cc.GetState(); state != connectivity.Idle; state = cc.GetState() {
		if !cc.WaitForStateChange(testContext(t), state) {
			t.Fatal("the channel does not become idle")
		}
	}
	r.InitialState(stateWith(s, func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{}, status.Error(codes.ResourceExhausted, "the second")
	}))
	if err := call(testContext(t), cc, "x"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("after idleness: %v", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the first Selector was asked %d times", n)
	}
}

// adding is an Interceptor that gives RPCs credentials.
type adding struct{ creds credentials.PerRPCCredentials }

func (a adding) Begin(ctx context.Context, _ rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	return next(rpcconfig.WithCredentials(ctx, a.creds))
}

// wants are credentials that may want a secure connection.
type wants struct{ security bool }

func (wants) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"added": "token"}, nil
}
func (w wants) RequireTransportSecurity() bool { return w.security }

// TestInterceptorAddsCredentials: beside the RPC's own, and never where they would be seen.
func TestInterceptorAddsCredentials(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		return &text{Value: strings.Join(metadata.ValueFromIncomingContext(ctx, "added"), ",")}, nil
	}
	s := serve(t, e)
	for security, want := range map[bool]codes.Code{false: codes.OK, true: codes.Unauthenticated} {
		cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
			return rpcconfig.Choice{Interceptor: adding{wants{security}}}, nil
		})
		if err := call(testContext(t), cc, "token"); status.Code(err) != want {
			t.Errorf("security %t: %v", security, err)
		}
		if err := call(testContext(t), cc, "token,token", PerRPCCredentials(wants{})); status.Code(err) != want {
			t.Errorf("security %t, with the RPC's own: %v", security, err)
		}
	}
}

// plainNext is an interceptor that only goes on.
type plainNext struct{}

func (plainNext) Begin(ctx context.Context, _ rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	return next(ctx)
}

// TestCredentialsStayWithTheirRPC: a stream's context, which programs make other RPCs with, has the credentials that
// an interceptor has added to the stream (A83: they are for the audience of its own cluster).
func TestCredentialsStayWithTheirRPC(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		return &text{Value: strings.Join(metadata.ValueFromIncomingContext(ctx, "added"), ",")}, nil
	}
	s := serve(t, e)
	cc, _ := selecting(t, s, func(_ context.Context, method string) (rpcconfig.Choice, error) {
		if method == bidiMethod {
			return rpcconfig.Choice{Interceptor: adding{wants{false}}}, nil
		}
		return rpcconfig.Choice{Interceptor: plainNext{}}, nil
	})
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := call(st.Context(), cc, ""); err != nil {
		t.Error(err)
	}
}
