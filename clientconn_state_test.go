// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// awaitState waits until the channel is in the state.
func awaitState(t testing.TB, cc *ClientConn, want connectivity.State) {
	t.Helper()
	ctx := testContext(t)
	for s := cc.GetState(); s != want; s = cc.GetState() {
		if !cc.WaitForStateChange(ctx, s) {
			t.Fatalf("the channel is %v, want %v", s, want)
		}
	}
}

// closedAddress is one at which nobody listens.
func closedAddress(t testing.TB) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

func wantCode(t testing.TB, what string, err error, want codes.Code, texts ...string) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q in it", what, err, text)
		}
	}
}

func TestStates(t *testing.T) {
	s := newRestartable(t)
	cc := newTestClient(t, s.addr)
	if got := cc.GetState(); got != connectivity.Idle {
		t.Errorf("a new channel is %v", got)
	}
	cc.Connect()
	awaitState(t, cc, connectivity.Ready)
	s.restart()
	awaitState(t, cc, connectivity.Idle) // until the next RPC
	if err := call(testContext(t), cc, "again"); err != nil {
		t.Error(err)
	}
	awaitState(t, cc, connectivity.Ready)
	if err := cc.Close(); err != nil {
		t.Error(err)
	}
	if got := cc.GetState(); got != connectivity.Shutdown {
		t.Errorf("a closed channel is %v", got)
	}
	if err := cc.Close(); !errors.Is(err, ErrClientConnClosing) {
		t.Errorf("second Close: %v", err)
	}
	wantCode(t, "RPC on a closed channel", call(testContext(t), cc, "x"), codes.Canceled)
}

func TestWaitForStateChangeEnds(t *testing.T) {
	cc := newTestClient(t, "127.0.0.1:1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if cc.WaitForStateChange(ctx, connectivity.Idle) {
		t.Error("the state changed without a reason")
	}
	if !cc.WaitForStateChange(ctx, connectivity.Ready) {
		t.Error("the state is another already")
	}
}

func TestWaitForReady(t *testing.T) {
	s := newRestartable(t)
	s.stop()
	cc := newTestClient(t, s.addr, quickBackoff)
	wantCode(t, "not wait-for-ready", call(testContext(t), cc, "x"), codes.Unavailable, "refused")
	err := testutils.EndsWaiting(t.Context(), func(ctx context.Context) error { return call(ctx, cc, "x", WaitForReady(true)) }, "refused")
	wantCode(t, "wait-for-ready that ends", err, codes.DeadlineExceeded, "refused")
	result := make(chan error)
	go func() { result <- call(testContext(t), cc, "x", WaitForReady(true)) }()
	awaitState(t, cc, connectivity.TransientFailure)
	s.start()
	if err := <-result; err != nil {
		t.Errorf("wait-for-ready: %v", err)
	}
}

func TestResetConnectBackoff(t *testing.T) {
	s := newRestartable(t)
	s.stop()
	p := ConnectParams{MinConnectTimeout: time.Second}
	p.Backoff.BaseDelay, p.Backoff.MaxDelay, p.Backoff.Multiplier = time.Hour, time.Hour, 1
	cc := newTestClient(t, s.addr, WithConnectParams(p))
	cc.Connect()
	awaitState(t, cc, connectivity.TransientFailure)
	s.start()
	// The report of the failure may come before the pause has begun.
	for cc.GetState() != connectivity.Ready {
		cc.ResetConnectBackoff()
		ctx, cancel := context.WithTimeout(testContext(t), 10*time.Millisecond)
		cc.WaitForStateChange(ctx, connectivity.TransientFailure)
		cancel()
	}
}

// TestResetConnectBackoffDuringAnAttempt: the pause after an attempt that was under way is as short as the first, too.
func TestResetConnectBackoffDuringAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ConnectParams{MinConnectTimeout: time.Hour}
		p.Backoff.BaseDelay, p.Backoff.MaxDelay, p.Backoff.Multiplier = time.Second, time.Hour, 1000
		dials, fail := make(chan time.Time), make(chan struct{})
		cc := newTestClient(t, "passthrough:///x", WithIdleTimeout(0), WithConnectParams(p), WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			select {
			case dials <- time.Now():
			case <-ctx.Done():
			}
			select {
			case <-fail:
			case <-ctx.Done():
			}
			return nil, errors.New("nobody is there")
		}))
		defer cc.Close()
		cc.Connect()
		for range 2 { // the pause after the second would be long
			<-dials
			fail <- struct{}{}
		}
		<-dials
		cc.ResetConnectBackoff()
		fail <- struct{}{}
		failed := time.Now()
		if pause := (<-dials).Sub(failed); pause != time.Second {
			t.Errorf("the pause is %v", pause)
		}
	})
}

func TestIdleTimeout(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr, WithIdleTimeout(10*time.Millisecond))
	for range 3 {
		if err := call(testContext(t), cc, "x"); err != nil {
			t.Error(err)
		}
		awaitState(t, cc, connectivity.Idle)
	}
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer cancel()
	if cc.WaitForStateChange(ctx, connectivity.Ready) {
		t.Errorf("the channel is %v while a stream is open", cc.GetState())
	}
	if err := st.SendMsg(&text{}); err != nil {
		t.Error(err)
	}
	_ = st.CloseSend()
	for err == nil {
		err = st.RecvMsg(new(text))
	}
	awaitState(t, cc, connectivity.Idle)
}

// slowAsked is a builder, and the resolver that it builds, whose ResolveNow takes half a second.
type slowAsked struct {
	asked chan struct{}

	mu     sync.Mutex
	events []string
}

func (s *slowAsked) add(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *slowAsked) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

func (*slowAsked) Scheme() string { return "slow" }

func (s *slowAsked) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	s.add("build")
	return s, cc.UpdateState(addressState("nobody:1"))
}

func (s *slowAsked) ResolveNow(resolver.ResolveNowOptions) {
	s.asked <- struct{}{}
	time.Sleep(time.Second / 2)
}

func (s *slowAsked) Close() { s.add("close") }

// TestIdleClosesFirst: what a channel gives up as it goes idle is closed before it builds another resolver, and before its
// Close returns.
func TestIdleClosesFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		next func(*ClientConn)
		want []string
	}{
		{"Connect", func(cc *ClientConn) {
			cc.Connect() // does not wait
			time.Sleep(600 * time.Millisecond)
			synctest.Wait()
		}, []string{"build", "close", "build"}},
		{"Close", func(cc *ClientConn) { cc.Close() }, []string{"build", "close"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowAsked{asked: make(chan struct{}, 10)}
				cc := newTestClient(t, "slow:///x", WithResolvers(s), WithIdleTimeout(time.Second), WithContextDialer(func(context.Context, string) (net.Conn, error) {
					time.Sleep(time.Second - time.Millisecond)
					return nil, errors.New("refused")
				}))
				defer cc.Close()
				cc.Connect()
				<-s.asked
				time.Sleep(10 * time.Millisecond)
				if got := cc.GetState(); got != connectivity.Idle {
					t.Fatalf("the channel is %v", got)
				}
				tt.next(cc)
				if got := s.seen(); !slices.Equal(got, tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestCloseEndsEverything(t *testing.T) {
	e := newEcho()
	began := make(chan struct{})
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := serve(t, e)
	cc := newTestClient(t, s.addr)
	finished := make(chan error, 1)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 2)
	go func() { result <- call(testContext(t), cc, "x") }()
	go func() { result <- st.RecvMsg(new(text)) }()
	<-began
	cc.Close()
	for range 2 {
		wantCode(t, "an RPC during Close", <-result, codes.Canceled)
	}
	wantCode(t, "OnFinish", <-finished, codes.Canceled)
	waiting := newTestClient(t, closedAddress(t))
	go func() { result <- call(testContext(t), waiting, "x", WaitForReady(true)) }()
	awaitState(t, waiting, connectivity.TransientFailure)
	waiting.Close()
	wantCode(t, "an RPC that waits during Close", <-result, codes.Canceled)
}

func TestServiceConfigErrors(t *testing.T) {
	s := serve(t, newEcho())
	r := manual.NewBuilderWithScheme("test")
	invalid := &serviceconfig.ParseResult{Err: errors.New("cannot be read")}
	first := addressState(s.addr)
	first.ServiceConfig = invalid
	r.InitialState(first)
	cc := newTestClient(t, "test:///x", WithResolvers(r))
	wantCode(t, "the first config is invalid", call(testContext(t), cc, "x"), codes.Unavailable, "cannot be read")
	if got := cc.GetState(); got != connectivity.TransientFailure {
		t.Errorf("state %v", got)
	}
	good := addressState(s.addr)
	good.ServiceConfig = parseServiceConfig(`{"methodConfig":[{"name":[{}],"waitForReady":true}]}`, false)
	r.UpdateState(good)
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Errorf("with a valid config: %v", err)
	}
	if wfr := cc.GetMethodConfig(unaryMethod).WaitForReady; wfr == nil || !*wfr {
		t.Error("the service config is not in use")
	}
	r.UpdateState(first)
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Errorf("an invalid config after a valid one: %v", err)
	}
	if cc.GetMethodConfig(unaryMethod).WaitForReady == nil {
		t.Error("an invalid service config replaced a valid one")
	}
	off := newTestClient(t, "test:///x", WithResolvers(r), WithDisableServiceConfig())
	if err := call(testContext(t), off, "x"); err != nil {
		t.Errorf("service configs disabled: %v", err)
	}
	_, err := NewClient("x", WithTransportCredentials(insecure.NewCredentials()), WithDefaultServiceConfig("{"))
	if err == nil {
		t.Error("no error for an invalid default service config")
	}
}

func TestResolverErrors(t *testing.T) {
	r := manual.NewBuilderWithScheme("test")
	cc := newTestClient(t, "test:///x", WithResolvers(r))
	cc.Connect()
	r.CC().ReportError(errors.New("no such name"))
	wantCode(t, "the resolver failed", call(testContext(t), cc, "x"), codes.Unavailable, "no such name")

	none := newTestClient(t, "dns:///a:b:c")
	wantCode(t, "the resolver can't be built", call(testContext(t), none, "x"), codes.Unavailable, "invalid target address")
	if _, err := Dial("dns:///a:b:c", WithTransportCredentials(insecure.NewCredentials())); err == nil {
		t.Error("Dial: no error for a target that can't be resolved")
	}
}

func TestDial(t *testing.T) {
	s := serve(t, newEcho())
	plain := WithTransportCredentials(insecure.NewCredentials())
	cc, err := DialContext(testContext(t), s.addr, plain, WithBlock())
	if err != nil {
		t.Fatal(err)
	}
	if got := cc.GetState(); got != connectivity.Ready {
		t.Errorf("after WithBlock the channel is %v", got)
	}
	cc.Close()
	_, err = Dial(closedAddress(t), plain, WithTimeout(50*time.Millisecond), WithBlock())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody listens: %v", err)
	}
	dialed := make(chan string, 1)
	cc, err = Dial("some:target", plain, WithDialer(func(addr string, timeout time.Duration) (net.Conn, error) {
		dialed <- addr
		return net.Dial("tcp", s.addr)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := <-dialed; got != "some:target" {
		t.Errorf("the dialer was given %q", got)
	}
	cc.Close()
	fatal := WithTransportCredentials(brokenCreds{insecure.NewCredentials()})
	_, err = Dial(s.addr, fatal, WithBlock(), FailOnNonTempDialError(true), WithTimeout(patience))
	if err == nil || !strings.Contains(err.Error(), "no trust") {
		t.Errorf("FailOnNonTempDialError: %v", err)
	}
}

// TestDialFailsForGood has a Dial that waits see errors of the dialer.
func TestDialFailsForGood(t *testing.T) {
	for _, tt := range []struct {
		what string
		err  error
		fail bool
		text string
		took time.Duration
	}{
		{"for good", fatalError{}, true, "transport: error while dialing: no trust", 0},
		{"for good, in another error", fmt.Errorf("dial: %w", fatalError{}), true, "no trust", 0},
		{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true, "refused", 0},
		{"for now", errors.New("busy"), true, "deadline", time.Minute},
		{"the option is off", fatalError{}, false, "deadline", time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := Dial("passthrough:///bubble", WithTransportCredentials(insecure.NewCredentials()),
				WithBlock(), FailOnNonTempDialError(tt.fail), WithTimeout(time.Minute),
				WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, tt.err }))
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: %v, want %q", tt.what, err, tt.text)
			}
			if took := time.Since(begun); took != tt.took {
				t.Errorf("%s: it took %v, want %v", tt.what, took, tt.took)
			}
		})
	}
}

// TestDialReturnsConnectionError: with the option, an error of Dial says why there is no connection.
func TestDialReturnsConnectionError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		_, err := Dial("passthrough:///bubble", WithTransportCredentials(insecure.NewCredentials()),
			WithTimeout(time.Minute), WithReturnConnectionError(),
			WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, refused }))
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Error(err)
		}
	})
}

// brokenCreds fail every handshake for good.
type brokenCreds struct {
	credentials.TransportCredentials
}

type fatalError struct{}

func (fatalError) Error() string   { return "no trust" }
func (fatalError) Temporary() bool { return false }

func (brokenCreds) ClientHandshake(_ context.Context, _ string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	nc.Close()
	return nil, nil, fatalError{}
}

func TestConcurrentClose(t *testing.T) {
	s := serve(t, newEcho())
	for range 20 {
		cc := newTestClient(t, s.addr)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if err := call(testContext(t), cc, "x"); err != nil {
						if status.Code(err) != codes.Canceled {
							t.Errorf("%v", err)
						}
						return
					}
				}
			})
		}
		wg.Go(func() { cc.Close() })
		wg.Wait()
	}
}
