// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/test/bufconn"
)

// TestOptionsAreComparable has options be keys of maps, and compared, as programs do that
// collect them.
func TestOptionsAreComparable(t *testing.T) {
	dial := make(map[DialOption]int)
	for i, o := range []DialOption{
		WithBlock(),
		WithUserAgent("x"), WithUserAgent("x"),
		EmptyDialOption{},
		WithMaxHeaderListSize(5), WithDisableRetry(),
		WithTransportCredentials(insecure.NewCredentials()), WithUnaryInterceptor(nil), WithResolvers(), WithSharedWriteBuffer(true),
		WithDefaultCallOptions(OnFinish(func(error) {})), WithIdleTimeout(0), WithNoProxy(), WithMaxMsgSize(1), WithInsecure(),
	} {
		dial[o] = i
		if same := o; same != o {
			t.Errorf("dial option %d is not equal to itself", i)
		}
	}
	server := make(map[ServerOption]int)
	for i, o := range []ServerOption{
		MaxRecvMsgSize(1), MaxRecvMsgSize(1),
		EmptyServerOption{},
		MaxHeaderListSize(1), UnaryInterceptor(nil), Creds(nil),
		ChainStreamInterceptor(), MaxConcurrentStreams(1), UnknownServiceHandler(nil), NumStreamWorkers(1), SharedWriteBuffer(true),
	} {
		server[o] = i
		if same := o; same != o {
			t.Errorf("server option %d is not equal to itself", i)
		}
	}
	if WithMaxHeaderListSize(5) != WithMaxHeaderListSize(5) || WithUserAgent("x") == WithUserAgent("x") {
		t.Error("what is equal is not what it should be")
	}
}

// TestNoAuthority has targets that say nothing of a server, as those of programs that talk
// over connections in memory.
func TestNoAuthority(t *testing.T) {
	lis := bufconn.Listen(1 << 16)
	var got metadata.MD
	s := NewServer()
	s.RegisterService(&echoDesc, incoming(&got))
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	defer func() {
		s.Stop()
		<-served
	}()
	m := manual.NewBuilderWithScheme("test")
	m.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: ""}}})
	opts := []DialOption{
		WithTransportCredentials(insecure.NewCredentials()),
		WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
		WithResolvers(m),
	}
	for target, dial := range map[string]func(string, ...DialOption) (*ClientConn, error){
		"":                Dial,
		"passthrough:///": NewClient,
		"passthrough:":    NewClient,
		"test:///":        NewClient,
	} {
		cc, err := dial(target, opts...)
		if err != nil {
			t.Errorf("%q: %v", target, err)
			continue
		}
		if err := call(testContext(t), cc, "x"); err != nil {
			t.Errorf("%q: %v", target, err)
		}
		if a := got[":authority"]; len(a) != 1 || a[0] != "" {
			t.Errorf("%q: the authority is %q", target, a)
		}
		cc.Close()
	}
}

// TestNoDialStorm leaves out what says how long to pause.
func TestNoDialStorm(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		params   ConnectParams
		most     int64 // dials in ten seconds
		deadline time.Duration
	}{
		{ConnectParams{}, 110, 20 * time.Second},
		{ConnectParams{MinConnectTimeout: 3 * time.Second}, 110, 3 * time.Second},
		{ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * ms, MaxDelay: time.Second}}, 15, time.Second},
		{ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * ms, Multiplier: 2}}, 110, time.Second},
		{ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * ms, MaxDelay: time.Second, Multiplier: 0.5}}, 110, time.Second},
		{ConnectParams{Backoff: backoff.Config{MaxDelay: time.Second}}, 15, 20 * time.Second},
		{ConnectParams{Backoff: backoff.DefaultConfig}, 6, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var dials atomic.Int64
			first := make(chan time.Duration, 1)
			cc := newTestClient(t, "passthrough:///x", WithConnectParams(tt.params), WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				if d, ok := ctx.Deadline(); ok && dials.Load() == 0 {
					first <- time.Until(d)
				}
				if dials.Add(1) > tt.most {
					<-ctx.Done() // enough has been seen
				}
				return nil, errors.New("nobody is there")
			}))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for state := cc.GetState(); ctx.Err() == nil; state = cc.GetState() {
				if state == connectivity.Idle {
					cc.Connect()
				}
				cc.WaitForStateChange(ctx, state)
			}
			if n := dials.Load(); n > tt.most || n < 2 {
				t.Errorf("%+v: %d dials in ten seconds, want at most %d", tt.params, n, tt.most)
			}
			if d := <-first; d != tt.deadline {
				t.Errorf("%+v: the first attempt has %v, want %v", tt.params, d, tt.deadline)
			}
		})
	}
}

// TestSecretsNeedPrivacy has credentials of the channel ask for more than the connection
// gives.
func TestSecretsNeedPrivacy(t *testing.T) {
	s := serve(t, newEcho())
	ctx := testContext(t)
	secret := tokens{name: "x", secret: true}
	cc := newTestClient(t, s.addr, WithTransportCredentials(nil), WithCredentialsBundle(testBundle{insecure.NewCredentials(), secret}))
	wantCode(t, "of a bundle", call(ctx, cc, "x"), codes.Unavailable,
		`connection error: desc = "transport: cannot send secure credentials on an insecure connection"`)
	at := serve(t, newEcho(), Creds(local.NewCredentials()))
	cc = newTestClient(t, at.addr, WithTransportCredentials(local.NewCredentials()), WithPerRPCCredentials(secret))
	wantCode(t, "over TCP that only happens to be local", call(ctx, cc, "x"), codes.Unavailable,
		`connection error: desc = "transport: cannot send secure credentials on an insecure connection"`)
	cc = newTestClient(t, at.addr, WithTransportCredentials(local.NewCredentials()))
	wantCode(t, "of a call, over such", call(ctx, cc, "x", PerRPCCredentials(secret)), codes.Unauthenticated,
		"transport: cannot send secure credentials on an insecure connection")
	cc = newTestClient(t, s.addr)
	wantCode(t, "of a call", call(ctx, cc, "x", PerRPCCredentials(secret)), codes.Unauthenticated,
		"transport: cannot send secure credentials on an insecure connection")
	if _, err := NewClient(s.addr, WithTransportCredentials(insecure.NewCredentials()), WithPerRPCCredentials(secret)); err == nil {
		t.Error("a channel that is known to be insecure is made")
	}
}
