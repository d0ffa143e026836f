// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// oneSubchannel is a subchannel of a channel that has no other.
type oneSubchannel struct {
	policy *scripted
	sc     balancer.SubConn
	dials  chan string // the addresses dialed
	states chan connectivity.State
}

// stalls is an address that is dialed in vain until the dialer is told to end.
const stalls = "stalls"

// connectOne returns a subchannel for addr that was told to connect.
func connectOne(t *testing.T, addr string, opts ...DialOption) *oneSubchannel {
	t.Helper()
	sub := &oneSubchannel{dials: make(chan string, 10), states: make(chan connectivity.State, 10)}
	made := make(chan error, 1)
	cc := scriptedChannel(t, addr, func(s *scripted, state balancer.ClientConnState) (err error) {
		sub.policy = s
		sub.sc, err = s.NewSubConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{
			StateListener: func(s balancer.SubConnState) { sub.states <- s.ConnectivityState },
		})
		made <- err
		return err
	}, append(opts, WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		sub.dials <- addr
		if addr == stalls {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}))...)
	cc.Connect()
	if err := within(t, made, "the subchannel"); err != nil {
		t.Fatal(err)
	}
	sub.sc.Connect()
	return sub
}

func (sub *oneSubchannel) update(addrs []resolver.Address) {
	//lint:ignore SA1019 balancers may still use it
	sub.policy.UpdateAddresses(sub.sc, addrs)
}

// TestSupersededConnectionIsClosed gives a subchannel another address after a connection was made, and before it
// is used.
func TestSupersededConnectionIsClosed(t *testing.T) {
	ended := make(chan struct{}, 1)
	one := serve(t, newEcho(), StatsHandler(&endHandler{ended: func() { ended <- struct{}{} }}))
	two := serve(t, newEcho())
	var sub *oneSubchannel
	known := make(chan struct{})
	var once sync.Once
	sub = connectOne(t, one.addr, WithStatsHandler(&counter{during: func(record string) {
		if record == madeRecord {
			once.Do(func() {
				<-known
				sub.update([]resolver.Address{{Addr: two.addr}})
			})
		}
	}}))
	close(known)
	within(t, ended, "the end of the connection")
}

// TestUpdateAddressesConnectsAnew gives a subchannel that is connected, or has failed, other addresses: whether
// it dials, and when, is as in the published module.
func TestUpdateAddressesConnectsAnew(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed bool // else it is connected
		to     func(a resolver.Address) []resolver.Address
		dials  bool
	}{
		{"the same", false, func(a resolver.Address) []resolver.Address { return []resolver.Address{a} }, false},
		{"another behind it", false, func(a resolver.Address) []resolver.Address { return []resolver.Address{a, {Addr: "b"}} }, true},
		{"attributes", false, func(a resolver.Address) []resolver.Address {
			a.Attributes = attributes.New("k", "v")
			return []resolver.Address{a}
		}, true},
		{"attributes of the balancer", false, func(a resolver.Address) []resolver.Address {
			a.BalancerAttributes = attributes.New("k", "v")
			return []resolver.Address{a}
		}, false},
		{"another, failed", true, func(resolver.Address) []resolver.Address { return []resolver.Address{{Addr: "b"}} }, false},
	} {
		s := serve(t, newEcho())
		addr := s.addr
		if tt.failed {
			addr = closedAddress(t)
		}
		sub := connectOne(t, addr)
		within(t, sub.states, "CONNECTING")
		within(t, sub.states, "the outcome")
		within(t, sub.dials, "the first dial")
		sub.update(tt.to(resolver.Address{Addr: addr}))
		if tt.dials {
			if got := within(t, sub.states, "another attempt"); got != connectivity.Connecting {
				t.Errorf("%s: %v", tt.name, got)
			}
			within(t, sub.dials, "another dial")
			continue
		}
		sub.sc.Shutdown()
		if got := within(t, sub.states, "the end"); got != connectivity.Shutdown {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestUpdateAddressesBesideSlowRecorder: while a recorder is told of the connection that is given up, an attempt to
// connect to a third address fails. The subchannel pauses then, also once the recorder has returned.
func TestUpdateAddressesBesideSlowRecorder(t *testing.T) {
	s := serve(t, newEcho())
	recording, may := make(chan struct{}), make(chan struct{})
	sub := connectOne(t, s.addr, quickBackoff, WithStatsHandler(&counter{during: func(record string) {
		if record == lostRecord {
			close(recording)
			<-may
		}
	}}))
	want := func(states ...connectivity.State) {
		t.Helper()
		for _, want := range states {
			if got := within(t, sub.states, want.String()); got != want {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
	want(connectivity.Connecting, connectivity.Ready)
	sub.update([]resolver.Address{{Addr: stalls}})
	within(t, recording, "the record")
	sub.update([]resolver.Address{{Addr: closedAddress(t)}})
	want(connectivity.Connecting, connectivity.TransientFailure)
	close(may)
	want(connectivity.Idle)
	sub.sc.Shutdown()
	want(connectivity.Shutdown)
}

// TestUpdateAddressesWhileConnecting: a subchannel that connects, and is given another address, connects to that
// one, and its state stays CONNECTING: the balancer is told so once.
func TestUpdateAddressesWhileConnecting(t *testing.T) {
	s := serve(t, newEcho())
	sub := connectOne(t, stalls)
	within(t, sub.dials, "the first dial")
	sub.update([]resolver.Address{{Addr: s.addr}})
	if got := within(t, sub.dials, "the second dial"); got != s.addr {
		t.Errorf("dialed %q", got)
	}
	for _, want := range []connectivity.State{connectivity.Connecting, connectivity.Ready} {
		if got := within(t, sub.states, want.String()); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
