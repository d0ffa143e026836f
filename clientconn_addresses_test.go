// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// TestUpdateAddressesWhileConnecting: a subchannel that connects, and is given another address, connects to that
// one, and its state stays CONNECTING: the balancer is told so once.
func TestUpdateAddressesWhileConnecting(t *testing.T) {
	s := serve(t, newEcho())
	dials, states := make(chan string, 10), make(chan connectivity.State, 10)
	var policy *scripted
	var sc balancer.SubConn
	cc := scriptedChannel(t, "stalls", func(s *scripted, state balancer.ClientConnState) (err error) {
		policy = s
		sc, err = s.NewSubConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{
			StateListener: func(s balancer.SubConnState) { states <- s.ConnectivityState },
		})
		sc.Connect()
		return err
	}, WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		dials <- addr
		if addr == "stalls" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}))
	cc.Connect()
	within(t, dials, "the first dial")
	//lint:ignore SA1019 balancers may still use it
	policy.UpdateAddresses(sc, []resolver.Address{{Addr: s.addr}})
	if got := within(t, dials, "the second dial"); got != s.addr {
		t.Errorf("dialed %q", got)
	}
	for _, want := range []connectivity.State{connectivity.Connecting, connectivity.Ready} {
		if got := within(t, states, want.String()); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
