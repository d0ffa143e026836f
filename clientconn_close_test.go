// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
)

// lockedEnd is told of the end of an RPC, as a stats handler or a picker, and takes it under a lock of the
// program's.
type lockedEnd struct {
	mu    sync.Mutex
	ended chan struct{} // gets a value when the end was taken
}

func (h *lockedEnd) take() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended <- struct{}{}
}

func (*lockedEnd) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*lockedEnd) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*lockedEnd) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *lockedEnd) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, is := s.(*stats.End); is {
		h.take()
	}
}

// lockedPicks is a policy of pickers that tell ended of each end.
type lockedPicks struct{ ended *lockedEnd }

func (p lockedPicks) Build(info base.PickerBuildInfo) balancer.Picker {
	for sub := range info.ReadySCs {
		return &lockedPick{p.ended, sub}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type lockedPick struct {
	ended *lockedEnd
	sub   balancer.SubConn
}

func (p *lockedPick) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p.sub, Done: func(balancer.DoneInfo) { p.ended.take() }}, nil
}

// TestCloseNeedsNoEnd: Close does not wait until the program's own code has taken the ends of RPCs, as that
// may need a lock that the program holds while it calls Close.
func TestCloseNeedsNoEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		attempts int // whose handlers run
		told     func(*lockedEnd) ([]DialOption, []CallOption)
	}{
		"stats": {1, func(h *lockedEnd) ([]DialOption, []CallOption) {
			return []DialOption{WithStatsHandler(h)}, nil
		}},
		"stats, hedged": {2, func(h *lockedEnd) ([]DialOption, []CallOption) {
			return []DialOption{WithStatsHandler(h), WithDefaultServiceConfig(hedging(2, "0s", "", ""))}, nil
		}},
		"OnFinish": {1, func(h *lockedEnd) ([]DialOption, []CallOption) {
			return nil, []CallOption{OnFinish(func(error) { h.take() })}
		}},
		"picker": {1, func(h *lockedEnd) ([]DialOption, []CallOption) {
			balancer.Register(base.NewBalancerBuilder("locked_picks", lockedPicks{h}, base.Config{}))
			return []DialOption{WithDefaultServiceConfig(`{"loadBalancingConfig":[{"locked_picks":{}}]}`)}, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{}, tt.attempts)
			e := newEcho()
			e.stream = func(s ServerStream) error { began <- struct{}{}; <-s.Context().Done(); return nil }
			h := &lockedEnd{ended: make(chan struct{}, tt.attempts)}
			dial, call := tt.told(h)
			cc := newTestClient(t, serve(t, e).addr, dial...)
			s, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, call...)
			if err != nil {
				t.Fatal(err)
			}
			for range tt.attempts {
				within(t, began, "the handler")
			}
			closed := make(chan error, 1)
			h.mu.Lock()
			unlock := sync.OnceFunc(h.mu.Unlock)
			defer unlock()
			go func() { closed <- cc.Close() }()
			if err := within(t, closed, "Close"); err != nil {
				t.Error(err)
			}
			unlock()
			within(t, h.ended, "the end")
			wantCode(t, "RecvMsg", s.RecvMsg(new(text)), codes.Canceled)
		})
	}
}

// endHandler calls a function when a connection has ended.
type endHandler struct {
	counter
	ended func()
}

func (h *endHandler) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnEnd); ok {
		h.ended()
	}
}

// TestHandlerClosesItsChannel closes the channel when a stats handler is told that the server has closed the connection,
// and again when that makes Close tell it.
func TestHandlerClosesItsChannel(t *testing.T) {
	for _, byServer := range []bool{true, false} {
		s := serve(t, newEcho())
		var cc *ClientConn
		told := make(chan struct{}, 2)
		cc = newTestClient(t, s.addr, WithStatsHandler(&endHandler{ended: func() {
			cc.Close()
			told <- struct{}{}
		}}))
		if err := call(testContext(t), cc, "x"); err != nil {
			t.Fatal(err)
		}
		if byServer {
			s.Stop()
		} else {
			cc.Close()
			if len(told) != 1 {
				t.Error("Close returns before the handler does")
			}
		}
		within(t, told, "the end")
		cc.Close()
		if len(told) != 0 {
			t.Error("the handler is told twice")
		}
	}
}

// TestCloseByLeavingResolver: what a channel has ends also if its resolver's Close, which the program wrote, ends the
// goroutine or panics.
func TestCloseByLeavingResolver(t *testing.T) {
	for name, leave := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("no") }} {
		ts := serve(t, newEcho())
		r := manualTarget(ts.addr)
		r.CloseCallback = leave
		cc := newTestClient(t, "test:///x", WithResolvers(r))
		st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan struct{})
		go func() {
			defer close(left)
			defer func() { _ = recover() }()
			_ = cc.Close()
		}()
		within(t, left, "the end of Close")
		wantCode(t, name, st.RecvMsg(new(text)), codes.Canceled)
		waitUntil(t, "the connections' end", func() bool {
			ts.mu.Lock()
			defer ts.mu.Unlock()
			return ts.openConns() == 0
		})
		if err := cc.Close(); err != ErrClientConnClosing {
			t.Errorf("%s: the second Close: %v", name, err)
		}
	}
}
