// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// restartable is a server that keeps its address when another takes its place.
type restartable struct {
	t    *testing.T
	addr string
	srv  *Server
	done chan struct{} // closed when Serve has returned
	got  atomic.Int64  // RPCs since the last start
}

func newRestartable(t *testing.T) *restartable {
	r := &restartable{t: t, addr: "127.0.0.1:0"}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *restartable) start() {
	lis, err := testutils.ListenAgain(r.addr)
	if err != nil {
		r.t.Error(err)
		return
	}
	r.addr = lis.Addr().String()
	r.got.Store(0)
	e := newEcho()
	e.unary = func(_ context.Context, m *text) (*text, error) {
		r.got.Add(1)
		return m, nil
	}
	r.srv = NewServer()
	r.srv.RegisterService(&echoDesc, e)
	done := make(chan struct{})
	r.done = done
	go func(s *Server) {
		defer close(done)
		_ = s.Serve(lis)
	}(r.srv)
}

func (r *restartable) stop() {
	r.srv.Stop()
	<-r.done
}

// restart drains the server and starts another.
func (r *restartable) restart() {
	r.srv.GracefulStop()
	<-r.done
	r.start()
}

// manualTarget returns a resolver that says what it is told.
func manualTarget(addrs ...string) *manual.Resolver {
	r := manual.NewBuilderWithScheme("test")
	r.InitialState(addressState(addrs...))
	return r
}

func addressState(addrs ...string) (s resolver.State) {
	for _, a := range addrs {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	return s
}

// quickBackoff lets a channel notice soon that a server is back.
var quickBackoff = WithConnectParams(ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
	MinConnectTimeout: 5 * time.Second,
})

// TestRollingRestart has servers drained and replaced, one after the other, under load. No
// caller is to see it, though the RPCs are not wait-for-ready.
func TestRollingRestart(t *testing.T) {
	for _, policy := range []string{"round_robin", "pick_first"} {
		t.Run(policy, func(t *testing.T) { rollingRestart(t, policy) })
	}
}

func rollingRestart(t *testing.T, policy string) {
	servers := []*restartable{newRestartable(t), newRestartable(t), newRestartable(t)}
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.addr)
	}
	r := manualTarget(addrs...)
	cc := newTestClient(t, "test:///x", WithResolvers(r), WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig":[{%q:{}}]}`, policy)), quickBackoff)
	if err := call(testContext(t), cc, "first", WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	var (
		stop    atomic.Bool
		wg      sync.WaitGroup
		calls   atomic.Int64
		mu      sync.Mutex
		failure []error
	)
	const callers = 200
	for i := range callers {
		wg.Go(func() {
			for !stop.Load() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				err := call(ctx, cc, fmt.Sprint(i))
				if i%10 == 0 && err == nil {
					err = downCall(ctx, cc)
				}
				cancel()
				calls.Add(1)
				if err != nil {
					mu.Lock()
					failure = append(failure, err)
					mu.Unlock()
				}
			}
		})
	}
	for range 3 {
		for _, s := range servers {
			before := calls.Load()
			s.restart()
			back := func() bool { return policy == "pick_first" || s.got.Load() > 0 }
			ctx := testContext(t)
			for ctx.Err() == nil && (!back() || calls.Load() < before+callers) {
				runtime.Gosched()
			}
			if ctx.Err() != nil {
				t.Errorf("%s is not back: %d RPCs there, %d in all", s.addr, s.got.Load(), calls.Load()-before)
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d RPCs", calls.Load())
	if len(failure) > 0 {
		t.Errorf("%d of %d RPCs failed; the first: %v", len(failure), calls.Load(), failure[0])
	}
}

// downCall is an RPC whose server streams.
func downCall(ctx context.Context, cc *ClientConn) error {
	st, err := cc.NewStream(ctx, &StreamDesc{ServerStreams: true}, "/test.Echo/Down")
	if err != nil {
		return fmt.Errorf("NewStream: %w", err)
	}
	if err := st.SendMsg(&text{Value: "down"}); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("SendMsg: %w", err)
	}
	for {
		switch err := st.RecvMsg(new(text)); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("RecvMsg: %w", err)
		}
	}
}
