// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// left runs f, which panics or ends its goroutine, and reports that to t if it does not.
func left(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
		t.Errorf("%s returned", what)
	}()
	within(t, done, what)
}

// exits are the ways to leave a function of the program for good.
var exits = map[string]func(){
	"panic":  func() { panic("of the program") },
	"Goexit": runtime.Goexit,
}

// TestTelemetryOfCallsThatExit has an interceptor that never returns: the plugin is told once that the RPC is over.
func TestTelemetryOfCallsThatExit(t *testing.T) {
	for name, exit := range exits {
		d := &diary{}
		cc := newTestClient(t, "dns:///127.0.0.1:1", clientDiary{diary: d},
			WithChainUnaryInterceptor(func(context.Context, string, any, any, *ClientConn, UnaryInvoker, ...CallOption) error {
				exit()
				return nil
			}),
			WithChainStreamInterceptor(func(context.Context, *StreamDesc, *ClientConn, string, Streamer, ...CallOption) (ClientStream, error) {
				exit()
				return nil, nil
			}))
		d.want(t, name, "channel true")
		left(t, name+", unary", func() { _ = call(testContext(t), cc, "x") })
		d.want(t, name+", unary", "call "+unaryMethod+" static=false", "call ends Internal")
		left(t, name+", stream", func() { _, _ = cc.NewStream(testContext(t), bidiStream, bidiMethod) })
		d.want(t, name+", stream", "call "+bidiMethod+" static=false", "call ends Internal")
	}
}

// exitingCodec is a codec that leaves for good when it decodes, or encodes.
type exitingCodec struct {
	encoding.CodecV2
	exit     func()
	encoding bool
}

func (c exitingCodec) Name() string { return "proto" }

func (c exitingCodec) Marshal(v any) (mem.BufferSlice, error) {
	if c.encoding {
		c.exit()
	}
	return c.CodecV2.Marshal(v)
}

func (c exitingCodec) Unmarshal(mem.BufferSlice, any) error {
	c.exit()
	return nil
}

// exitingStats is a stats handler that leaves for good at each attempt's first OutHeader, if it has exit, or at its
// InTrailer, if it has atTrailer.
type exitingStats struct {
	quietStats
	exit, atTrailer func()

	mu   sync.Mutex
	told []codes.Code // the ends; guarded by mu
}

func (s *exitingStats) HandleRPC(_ context.Context, e stats.RPCStats) {
	switch e := e.(type) {
	case *stats.OutHeader:
		if s.exit != nil {
			s.exit()
		}
	case *stats.InTrailer:
		if s.atTrailer != nil {
			s.atTrailer()
		}
	case *stats.End:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, status.Code(e.Error))
	}
}

// want takes the ends.
func (s *exitingStats) want(t *testing.T, what string, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.told) != n || n == 1 && s.told[0] != codes.Internal {
		t.Errorf("%s: ends %v, want %d", what, s.told, n)
	}
	s.told = nil
}

// exitingToken is credentials that leave for good.
type exitingToken struct {
	failingToken
	exit func()
}

func (e exitingToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	e.exit()
	return nil, nil
}

// TestCallsThatExit: an RPC that a codec or a stats handler of the program leaves for good is over: stats handlers
// are told, OnFinish functions run, and the RPC does not keep the channel from going idle.
func TestCallsThatExit(t *testing.T) {
	addr := serve(t, newEcho()).addr
	proto := encoding.GetCodecV2("proto")
	for name, exit := range exits {
		for what, test := range map[string]struct {
			codec  encoding.CodecV2 // nil: the usual one
			creds  func()           // of credentials
			stats  func()
			stream bool
			ends   int
		}{
			"decoding":             {codec: exitingCodec{proto, exit, false}, ends: 1},
			"encoding":             {codec: exitingCodec{proto, exit, true}}, // before the first attempt
			"stats handler":        {stats: exit, ends: 1},
			"stats handler/stream": {stats: exit, stream: true, ends: 1},
			"credentials":          {creds: exit, ends: 1}, // what leakcheck finds is the message's reference
			"credentials/stream":   {creds: exit, stream: true, ends: 1},
		} {
			what = name + ", " + what
			watch := &exitingStats{exit: test.stats}
			cc := newTestClient(t, addr, WithStatsHandler(watch))
			finished := 0
			opts := []CallOption{OnFinish(func(error) { finished++ })}
			if test.codec != nil {
				opts = append(opts, ForceCodecV2(test.codec))
			}
			if test.creds != nil {
				opts = append(opts, PerRPCCredentials(exitingToken{exit: test.creds}))
			}
			left(t, what, func() {
				if test.stream {
					_, _ = cc.NewStream(testContext(t), bidiStream, bidiMethod, opts...)
				} else {
					_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text), opts...)
				}
			})
			watch.want(t, what, test.ends)
			if n := cc.channel.RPCs(); n != 0 || finished != 1 {
				t.Errorf("%s: %d RPCs go on; OnFinish was called %d times", what, n, finished)
			}
		}
	}
}

// TestInterceptedCallsThatExit: so is a unary one that an interceptor of the Selector has begun as a stream.
func TestInterceptedCallsThatExit(t *testing.T) {
	proto := encoding.GetCodecV2("proto")
	for name, exit := range exits {
		for _, encodes := range []bool{false, true} {
			what := fmt.Sprintf("%s, encoding %t", name, encodes)
			commits := make(chan struct{}, 9)
			cc, _ := selecting(t, serving(t), func(context.Context, string) (rpcconfig.Choice, error) {
				return rpcconfig.Choice{Interceptor: &filter{}, Committed: func() { commits <- struct{}{} }}, nil
			})
			finished := 0
			left(t, what, func() {
				_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text),
					ForceCodecV2(exitingCodec{proto, exit, encodes}), OnFinish(func(error) { finished++ }))
			})
			if n := cc.channel.RPCs(); n != 0 || finished != 1 || len(commits) != 1 {
				t.Errorf("%s: %d RPCs go on; OnFinish was called %d times, Committed %d", what, n, finished, len(commits))
			}
		}
	}
}

// exitingFilter is an Interceptor that leaves for good, before or after it has begun the RPC, or has announced that it will.
type exitingFilter struct {
	exit func()
	when string // "before", "after", "later"
}

func (f exitingFilter) Begin(ctx context.Context, rpc rpcconfig.RPC, next rpcconfig.Next) (rpcconfig.Stream, error) {
	switch f.when {
	case "after":
		_, _ = next(ctx)
	case "later":
		next = rpc.Later(next)
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		defer func() { _, _ = next(ctx) }()
	}
	f.exit()
	return nil, nil
}

// TestInterceptorsThatExit: so is one that an interceptor of the Selector leaves.
func TestInterceptorsThatExit(t *testing.T) {
	for name, exit := range exits {
		for _, when := range []string{"before", "after", "later"} {
			for _, stream := range []bool{false, true} {
				what := fmt.Sprintf("%s, %s, stream %t", name, when, stream)
				commits, finished := make(chan struct{}, 9), make(chan error, 9)
				cc, _ := selecting(t, serving(t), func(context.Context, string) (rpcconfig.Choice, error) {
					return rpcconfig.Choice{Interceptor: exitingFilter{exit, when}, Committed: func() { commits <- struct{}{} }}, nil
				})
				opt := OnFinish(func(err error) { finished <- err })
				left(t, what, func() {
					if stream {
						_, _ = cc.NewStream(testContext(t), bidiStream, bidiMethod, opt)
					} else {
						_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text), opt)
					}
				})
				if err := within(t, finished, "OnFinish"); err == nil {
					t.Errorf("%s: ends with success", what)
				}
				if n := cc.channel.RPCs(); len(finished) != 0 || len(commits) != 1 {
					t.Errorf("%s: %d RPCs go on; OnFinish was called %d times more, Committed %d", what, n, len(finished), len(commits))
				}
			}
		}
	}
}

// exitingBuilder builds no resolver.
type exitingBuilder struct{ exit func() }

func (exitingBuilder) Scheme() string { return "exiting" }
func (b exitingBuilder) Build(resolver.Target, resolver.ClientConn, resolver.BuildOptions) (resolver.Resolver, error) {
	b.exit()
	return nil, nil
}

// TestResolversThatExit: so is one that wakes the channel, whose resolver's Build leaves.
func TestResolversThatExit(t *testing.T) {
	for name, exit := range exits {
		for _, stream := range []bool{false, true} {
			what := fmt.Sprintf("%s, stream %t", name, stream)
			cc := newTestClient(t, "exiting:///x", WithResolvers(exitingBuilder{exit}))
			finished := 0
			opt := OnFinish(func(error) { finished++ })
			left(t, what, func() {
				if stream {
					_, _ = cc.NewStream(testContext(t), bidiStream, bidiMethod, opt)
				} else {
					_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text), opt)
				}
			})
			if n := cc.channel.RPCs(); n != 0 || finished != 1 {
				t.Errorf("%s: %d RPCs go on; OnFinish was called %d times", what, n, finished)
			}
		}
	}
}

// TestCallsThatExitAtTheirEnd: so is one that a stats handler leaves when it is told how the server ended it.
func TestCallsThatExitAtTheirEnd(t *testing.T) {
	addr := serve(t, newEcho()).addr
	for name, exit := range exits {
		for _, stream := range []bool{false, true} {
			what := fmt.Sprintf("%s, stream %t", name, stream)
			watch := &exitingStats{atTrailer: exit}
			cc := newTestClient(t, addr, WithStatsHandler(watch))
			finished := 0
			opt := OnFinish(func(error) { finished++ })
			left(t, what, func() {
				if !stream {
					_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text), opt)
					return
				}
				if st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, opt); err == nil {
					_ = st.CloseSend()
					_ = st.RecvMsg(new(text))
				}
			})
			watch.mu.Lock()
			if !slices.Equal(watch.told, []codes.Code{codes.OK}) {
				t.Errorf("%s: ends %v", what, watch.told)
			}
			watch.mu.Unlock()
			if n := cc.channel.RPCs(); n != 0 || finished != 1 {
				t.Errorf("%s: %d RPCs go on; OnFinish was called %d times", what, n, finished)
			}
		}
	}
}

// TestCallsThatExitOnceTheyEnded: so is one that an OnFinish function leaves, or an option that can't store what it
// should: the other OnFinish functions run.
func TestCallsThatExitOnceTheyEnded(t *testing.T) {
	addr := serve(t, newEcho()).addr
	for name, exit := range exits {
		for what, opt := range map[string]CallOption{
			"OnFinish": OnFinish(func(error) { exit() }),
			"Header":   Header(nil),
		} {
			for _, stream := range []bool{false, true} {
				what := fmt.Sprintf("%s, %s, stream %t", name, what, stream)
				cc := newTestClient(t, addr)
				finished := 0
				opts := []CallOption{opt, OnFinish(func(error) { finished++ })}
				left(t, what, func() {
					if !stream {
						_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text), opts...)
						return
					}
					if st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, opts...); err == nil {
						_ = st.CloseSend()
						_ = st.RecvMsg(new(text))
					}
				})
				if n := cc.channel.RPCs(); n != 0 || finished != 1 {
					t.Errorf("%s: %d RPCs go on; OnFinish was called %d times", what, n, finished)
				}
			}
		}
	}
}

// TestCallsThatExitAtTheirBeginning: so is one with an option that panics before the first attempt.
func TestCallsThatExitAtTheirBeginning(t *testing.T) {
	for _, stream := range []bool{false, true} {
		cc := newTestClient(t, serve(t, newEcho()).addr)
		finished := 0
		opts := []CallOption{OnFinish(func(error) { finished++ }), beginPanics{}}
		left(t, "an option", func() {
			if stream {
				_, _ = cc.NewStream(testContext(t), bidiStream, bidiMethod, opts...)
			} else {
				_ = cc.Invoke(testContext(t), unaryMethod, &text{Value: "x"}, new(text), opts...)
			}
		})
		if n := cc.channel.RPCs(); n != 0 || finished != 1 {
			t.Errorf("stream %t: %d RPCs go on; OnFinish was called %d times", stream, n, finished)
		}
	}
}

// beginPanics is an option that panics when the RPC begins.
type beginPanics struct{ EmptyCallOption }

func (beginPanics) before(*callInfo) error { panic("of the program") }

// TestRetryThatExits: a stats handler leaves a stream's second attempt, which a receive has begun. The attempt ends, and
// so does the RPC when the program asks the stream again.
func TestRetryThatExits(t *testing.T) {
	for name, exit := range exits {
		e := newEcho()
		var calls atomic.Int32
		e.stream = func(ss ServerStream) error {
			if calls.Add(1) == 1 {
				return status.Error(codes.Unavailable, "again")
			}
			<-ss.Context().Done()
			return nil
		}
		begun := 0
		c := &exitingAt{at: func(s stats.RPCStats) {
			if _, ok := s.(*stats.OutHeader); ok {
				if begun++; begun == 2 {
					exit()
				}
			}
		}}
		cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(c), WithDefaultServiceConfig(retryConfig))
		st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		left(t, name, func() { _ = st.RecvMsg(new(text)) })
		if err := st.RecvMsg(new(text)); status.Code(err) != codes.Internal {
			t.Errorf("%s: then %v", name, err)
		}
		c.wantAllEnded(t, name, cc)
	}
}

// exitingAt is a stats handler that counts, and calls at.
type exitingAt struct {
	attemptCounter
	at func(stats.RPCStats)
}

func (e *exitingAt) HandleRPC(ctx context.Context, s stats.RPCStats) {
	e.attemptCounter.HandleRPC(ctx, s)
	e.at(s)
}
