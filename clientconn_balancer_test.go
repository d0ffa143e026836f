// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// scripted is a policy whose test says what it does with an update of the resolver.
type scripted struct {
	balancer.ClientConn
	opts   balancer.BuildOptions
	update func(*scripted, balancer.ClientConnState) error
	states chan connectivity.State // of the subchannels
	closed func()                  // called by Close, if there is one
}

var scripts struct {
	sync.Mutex
	update func(*scripted, balancer.ClientConnState) error
}

type scriptedBuilder struct{}

func (scriptedBuilder) Name() string { return "test_scripted" }

func (scriptedBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	scripts.Lock()
	defer scripts.Unlock()
	return &scripted{ClientConn: cc, opts: opts, update: scripts.update, states: make(chan connectivity.State, 1000)}
}

func init() { balancer.Register(scriptedBuilder{}) }

func (s *scripted) UpdateClientConnState(state balancer.ClientConnState) error {
	return s.update(s, state)
}
func (*scripted) ResolverError(error)                                        {}
func (*scripted) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (*scripted) ExitIdle()                                                  {}

func (s *scripted) Close() {
	if s.closed != nil {
		s.closed()
	}
}

// subConn makes a subchannel; RPCs are given to pick as soon as it is ready.
func (s *scripted) subConn(addrs []resolver.Address, opts balancer.NewSubConnOptions, pick func(balancer.SubConn) balancer.Picker) (balancer.SubConn, error) {
	var sc balancer.SubConn
	opts.StateListener = func(st balancer.SubConnState) {
		if st.ConnectivityState == connectivity.Ready && pick != nil {
			s.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pick(sc)})
		}
		if st.ConnectivityState == connectivity.TransientFailure {
			s.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: pickFunc(func(balancer.PickInfo) (balancer.PickResult, error) {
				return balancer.PickResult{}, st.ConnectionError
			})})
		}
		s.states <- st.ConnectivityState
	}
	//lint:ignore SA1019 tests give several addresses
	var err error
	sc, err = s.NewSubConn(addrs, opts)
	return sc, err
}

type pickFunc func(balancer.PickInfo) (balancer.PickResult, error)

func (f pickFunc) Pick(info balancer.PickInfo) (balancer.PickResult, error) { return f(info) }

// pickOf has all RPCs get the result, but for its SubConn.
func pickOf(r balancer.PickResult) func(balancer.SubConn) balancer.Picker {
	return func(sc balancer.SubConn) balancer.Picker {
		r.SubConn = sc
		return pickFunc(func(balancer.PickInfo) (balancer.PickResult, error) { return r, nil })
	}
}

// scriptedChannel is a channel to addr whose policy does with the resolver's first answer
// what update says.
func scriptedChannel(t *testing.T, addr string, update func(*scripted, balancer.ClientConnState) error, opts ...DialOption) *ClientConn {
	t.Helper()
	scripts.Lock()
	scripts.update = update
	scripts.Unlock()
	return newTestClient(t, "test:///authority.test", append([]DialOption{
		WithResolvers(manualTarget(addr)),
		WithDefaultServiceConfig(`{"loadBalancingConfig":[{"test_scripted":{}}]}`),
	}, opts...)...)
}

// incoming is an echo that keeps the metadata of the last RPC.
func incoming(md *metadata.MD) *echo {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		*md, _ = metadata.FromIncomingContext(ctx)
		return m, nil
	}
	return e
}

func TestAuthorityOfPicker(t *testing.T) {
	var got metadata.MD
	s := serve(t, incoming(&got))
	for _, tt := range []struct {
		authority []string
		want      string
	}{
		{nil, "authority.test"},
		{[]string{}, "authority.test"},
		{[]string{""}, "authority.test"},
		{[]string{"other.test", "third.test"}, "other.test"},
	} {
		md := metadata.MD{"x": {"1"}}
		if tt.authority != nil {
			md[":authority"] = tt.authority
		}
		cc := scriptedChannel(t, s.addr, func(s *scripted, state balancer.ClientConnState) error {
			sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, pickOf(balancer.PickResult{Metadata: md}))
			sc.Connect()
			return err
		})
		if err := call(testContext(t), cc, "x"); err != nil {
			t.Error(err)
		}
		if a := got[":authority"]; len(a) != 1 || a[0] != tt.want || len(got["x"]) != 1 {
			t.Errorf("%q: %v", tt.authority, map[string][]string(got))
		}
	}
}

// TestOrderOfPickedMetadata: the picker's comes after the call's own, also where both have a
// key.
func TestOrderOfPickedMetadata(t *testing.T) {
	var got metadata.MD
	s := serve(t, incoming(&got))
	cc := scriptedChannel(t, s.addr, func(s *scripted, state balancer.ClientConnState) error {
		sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, pickOf(balancer.PickResult{Metadata: metadata.Pairs("own", "picker")}))
		sc.Connect()
		return err
	})
	if err := call(metadata.AppendToOutgoingContext(testContext(t), "own", "call"), cc, "x"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"call", "picker"}; !slices.Equal(got["own"], want) {
		t.Errorf("%v, want %v", got["own"], want)
	}
}

// TestIdleAfterFailure: what ended the attempt is told once more with IDLE.
func TestIdleAfterFailure(t *testing.T) {
	errs := make(chan error, 2)
	scriptedChannel(t, closedAddress(t), func(s *scripted, state balancer.ClientConnState) error {
		sc, err := s.NewSubConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{StateListener: func(st balancer.SubConnState) {
			switch st.ConnectivityState {
			case connectivity.TransientFailure, connectivity.Idle:
				errs <- st.ConnectionError
			}
		}})
		sc.Connect()
		return err
	}).Connect()
	if failed, idle := within(t, errs, "a failure"), within(t, errs, "IDLE"); failed == nil || failed != idle {
		t.Errorf("IDLE with %v after %v", idle, failed)
	}
}

func TestPickErrors(t *testing.T) {
	s := serve(t, newEcho())
	wrapped := fmt.Errorf("none yet: %w", balancer.ErrNoSubConnAvailable)
	denied := status.Error(codes.PermissionDenied, "no")
	for _, tt := range []struct {
		what string
		err  error
		want codes.Code // of an RPC that is not wait-for-ready
		text string
		wait codes.Code // of one that is
	}{
		{"the value", balancer.ErrNoSubConnAvailable, codes.DeadlineExceeded, "", codes.DeadlineExceeded},
		{"wrapped", wrapped, codes.Unavailable, "none yet", codes.DeadlineExceeded},
		{"nil and nil", nil, codes.DeadlineExceeded, "", codes.DeadlineExceeded},
		{"a status", denied, codes.PermissionDenied, "no", codes.PermissionDenied},
		{"a wrapped status", fmt.Errorf("w: %w", denied), codes.PermissionDenied, "w: ", codes.PermissionDenied},
		{"a status of applications", status.Error(codes.NotFound, "x"), codes.Internal, "received picker error with illegal status: rpc error: code = NotFound desc = x", codes.Internal},
	} {
		cc := scriptedChannel(t, s.addr, func(s *scripted, _ balancer.ClientConnState) error {
			s.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pickFunc(
				func(balancer.PickInfo) (balancer.PickResult, error) { return balancer.PickResult{}, tt.err })})
			return nil
		})
		for wait, want := range map[bool]codes.Code{false: tt.want, true: tt.wait} {
			timeout := patience
			if want == codes.DeadlineExceeded {
				timeout = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(testContext(t), timeout)
			err := call(ctx, cc, "x", WaitForReady(wait))
			cancel()
			if status.Code(err) != want || want != codes.DeadlineExceeded && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s, wait for ready %t: %v, want %v", tt.what, wait, err, want)
			}
		}
	}
}

// TestNilPickWaits has a picker err once: the RPC takes the next.
func TestNilPickWaits(t *testing.T) {
	s := serve(t, newEcho())
	asked := make(chan struct{})
	cc := scriptedChannel(t, s.addr, func(s *scripted, state balancer.ClientConnState) error {
		var once sync.Once
		s.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pickFunc(
			func(balancer.PickInfo) (balancer.PickResult, error) {
				once.Do(func() { close(asked) })
				return balancer.PickResult{}, nil
			})})
		sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, pickOf(balancer.PickResult{}))
		go func() {
			<-asked
			sc.Connect()
		}()
		return err
	})
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Error(err)
	}
}

// TestSubConnWithoutAddresses has a policy take all addresses away.
func TestSubConnWithoutAddresses(t *testing.T) {
	s := serve(t, newEcho())
	for _, connectFirst := range []bool{false, true} {
		cc := scriptedChannel(t, s.addr, func(s *scripted, state balancer.ClientConnState) error {
			if _, err := s.subConn(nil, balancer.NewSubConnOptions{}, nil); err == nil {
				t.Error("a SubConn without addresses is made")
			}
			//lint:ignore SA1019 it must not harm
			s.UpdateAddresses(nil, state.ResolverState.Addresses)
			sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, nil)
			if connectFirst {
				sc.Connect()
			}
			//lint:ignore SA1019 it must not harm
			s.UpdateAddresses(sc, nil)
			sc.Connect()
			return err
		})
		wantCode(t, "RPC", call(testContext(t), cc, "x"), codes.Unavailable, "the subchannel has no address")
	}
}

// tokens are per-RPC credentials that send their name.
type tokens struct {
	name   string
	secret bool
}

func (c tokens) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{c.name: "1"}, nil
}

func (c tokens) RequireTransportSecurity() bool { return c.secret }

// namedCreds do nothing but tell who was asked for a handshake.
type namedCreds struct {
	credentials.TransportCredentials
	name  string
	asked chan string
}

func (c namedCreds) ClientHandshake(ctx context.Context, authority string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.asked <- c.name
	return c.TransportCredentials.ClientHandshake(ctx, authority, nc)
}

type testBundle struct {
	transport credentials.TransportCredentials
	perRPC    credentials.PerRPCCredentials
}

func (b testBundle) TransportCredentials() credentials.TransportCredentials { return b.transport }
func (b testBundle) PerRPCCredentials() credentials.PerRPCCredentials       { return b.perRPC }
func (b testBundle) NewWithMode(string) (credentials.Bundle, error)         { return b, nil }

func TestCredsBundleOfSubConn(t *testing.T) {
	var got metadata.MD
	s := serve(t, incoming(&got))
	asked := make(chan string, 10)
	creds := func(name string) credentials.TransportCredentials {
		return namedCreds{insecure.NewCredentials(), name, asked}
	}
	channel := WithCredentialsBundle(testBundle{creds("channel"), tokens{name: "of-channel"}})
	for _, tt := range []struct {
		what   string
		bundle credentials.Bundle
		creds  string
		sent   []string
	}{
		{"none", nil, "channel", []string{"of-channel", "beside"}},
		{"both", testBundle{creds("sub"), tokens{name: "of-sub"}}, "sub", []string{"of-sub", "beside"}},
		{"per RPC", testBundle{nil, tokens{name: "of-sub"}}, "channel", []string{"of-sub", "beside"}},
		{"transport", testBundle{creds("sub"), nil}, "sub", []string{"beside"}},
	} {
		cc := scriptedChannel(t, s.addr, func(s *scripted, state balancer.ClientConnState) error {
			//lint:ignore SA1019 balancers may still set it
			sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{CredsBundle: tt.bundle}, pickOf(balancer.PickResult{}))
			sc.Connect()
			return err
		}, WithTransportCredentials(nil), channel, WithPerRPCCredentials(tokens{name: "beside"}))
		if err := call(testContext(t), cc, "x"); err != nil {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		if name := <-asked; name != tt.creds {
			t.Errorf("%s: the handshake is that of %s, want %s", tt.what, name, tt.creds)
		}
		var sent []string
		for _, name := range []string{"of-channel", "of-sub", "beside"} {
			if got[name] != nil {
				sent = append(sent, name)
			}
		}
		if fmt.Sprint(sent) != fmt.Sprint(tt.sent) {
			t.Errorf("%s: RPCs carry %v, want %v", tt.what, sent, tt.sent)
		}
	}
}

// noted is a producer that tells when it begins and ends.
type noted struct {
	name   string
	events chan string
}

func (n noted) Build(any) (balancer.Producer, func()) {
	n.events <- "built " + n.name
	return n, func() { n.events <- "closed " + n.name }
}

// TestProducerEndsFirst has a subchannel connect, and lose its connection: at each change what
// lives on it ends before the policy is told.
func TestProducerEndsFirst(t *testing.T) {
	s := newRestartable(t)
	events := make(chan string, 100)
	cc := scriptedChannel(t, s.addr, func(p *scripted, state balancer.ClientConnState) error {
		var sc balancer.SubConn
		//lint:ignore SA1019 there is no other way to make one
		sc, err := p.NewSubConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{StateListener: func(st balancer.SubConnState) {
			name := st.ConnectivityState.String()
			events <- name
			sc.GetOrBuildProducer(noted{name, events})
		}})
		sc.GetOrBuildProducer(noted{"first", events})
		sc.Connect()
		return err
	})
	expect := func(wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if got := <-events; got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	}
	cc.Connect()
	expect("built first", "closed first", "CONNECTING", "built CONNECTING", "closed CONNECTING", "READY", "built READY")
	s.srv.Stop()
	expect("closed READY", "IDLE", "built IDLE")
	cc.Close()
	expect("closed IDLE")
}

// TestUpdateAddresses gives a subchannel that is connected other addresses.
func TestUpdateAddresses(t *testing.T) {
	one, two := serve(t, newEcho()), serve(t, newEcho())
	for _, tt := range []struct {
		addrs []string
		want  string // whom RPCs go to
	}{
		{[]string{one.addr, two.addr}, one.addr},
		{[]string{two.addr, one.addr}, two.addr},
		{[]string{one.addr}, one.addr},
	} {
		connected := make(chan balancer.SubConn, 1)
		var first sync.Once
		var policy *scripted
		cc := scriptedChannel(t, two.addr, func(s *scripted, state balancer.ClientConnState) error {
			policy = s
			sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, func(sc balancer.SubConn) balancer.Picker {
				first.Do(func() { connected <- sc })
				return pickOf(balancer.PickResult{})(sc)
			})
			sc.Connect()
			return err
		})
		cc.Connect()
		sc := <-connected
		var addrs []resolver.Address
		for _, a := range tt.addrs {
			addrs = append(addrs, resolver.Address{Addr: a})
		}
		//lint:ignore SA1019 balancers may still use it
		policy.UpdateAddresses(sc, addrs)
		var p peer.Peer
		if err := call(testContext(t), cc, "x", Peer(&p)); err != nil {
			t.Error(err)
		} else if p.Addr.String() != tt.want {
			t.Errorf("%q: RPCs go to %v, want %s", tt.addrs, p.Addr, tt.want)
		}
	}
}

// TestCustomUserAgent gives policies what the channel sends, to send it on connections of
// their own.
func TestCustomUserAgent(t *testing.T) {
	for _, tt := range []struct {
		opts []DialOption
		want string
	}{
		{nil, "grpc-go/" + Version},
		{[]DialOption{WithUserAgent("mine/1")}, "mine/1 grpc-go/" + Version},
	} {
		agents := make(chan string, 1)
		scriptedChannel(t, closedAddress(t), func(s *scripted, _ balancer.ClientConnState) error {
			agents <- s.opts.CustomUserAgent
			return nil
		}, tt.opts...).Connect()
		if got := within(t, agents, "the options"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestShutdownIsToldOnce has a policy shut a subchannel down twice, and the channel close
// after that.
func TestShutdownIsToldOnce(t *testing.T) {
	made := make(chan *scripted, 1)
	subs := make(chan balancer.SubConn, 1)
	cc := scriptedChannel(t, serve(t, newEcho()).addr, func(s *scripted, state balancer.ClientConnState) error {
		sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, pickOf(balancer.PickResult{}))
		sc.Connect()
		subs <- sc
		made <- s
		return err
	})
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	sc, s := within(t, subs, "the subchannel"), within(t, made, "the policy")
	sc.Shutdown()
	sc.Shutdown()
	for _, want := range []connectivity.State{connectivity.Connecting, connectivity.Ready, connectivity.Shutdown} {
		if got := within(t, s.states, "a state"); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	cc.Close()
	close(s.states)
	for again := range s.states {
		t.Errorf("%v once more", again)
	}
}

// TestCloseWaitsForBalancer has a policy that takes its time to close: what it does then is
// done when the channel is closed.
func TestCloseWaitsForBalancer(t *testing.T) {
	var closed bool
	updated := make(chan struct{})
	cc := scriptedChannel(t, "127.0.0.1:1", func(s *scripted, _ balancer.ClientConnState) error {
		s.closed = func() {
			runtime.Gosched()
			closed = true
		}
		close(updated)
		return nil
	})
	cc.Connect()
	<-updated
	if err := cc.Close(); err != nil || !closed {
		t.Errorf("%v; the policy is closed: %t", err, closed)
	}
}
