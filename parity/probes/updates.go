// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
)

// addressUpdates are what the addresses of a subchannel, that of the first server alone, become. Both
// servers can be connected to.
var addressUpdates = []struct {
	name string
	to   func(one, two resolver.Address) []resolver.Address
}{
	{"the same", func(one, _ resolver.Address) []resolver.Address { return []resolver.Address{one} }},
	{"another behind it", func(one, two resolver.Address) []resolver.Address { return []resolver.Address{one, two} }},
	{"another before it", func(one, two resolver.Address) []resolver.Address { return []resolver.Address{two, one} }},
	{"another", func(_, two resolver.Address) []resolver.Address { return []resolver.Address{two} }},
	{"twice the same", func(one, _ resolver.Address) []resolver.Address { return []resolver.Address{one, one} }},
	{"nothing", func(_, _ resolver.Address) []resolver.Address { return nil }},
	{"attributes", func(one, _ resolver.Address) []resolver.Address {
		one.Attributes = attributes.New("k", "v")
		return []resolver.Address{one}
	}},
	{"attributes of the balancer", func(one, _ resolver.Address) []resolver.Address {
		one.BalancerAttributes = attributes.New("k", "v")
		return []resolver.Address{one}
	}},
	{"metadata", func(one, _ resolver.Address) []resolver.Address {
		//lint:ignore SA1019 resolvers may still set it
		one.Metadata = "m"
		return []resolver.Address{one}
	}},
	{"a name of the server", func(one, _ resolver.Address) []resolver.Address {
		one.ServerName = "name"
		return []resolver.Address{one}
	}},
}

// updateProbes give a subchannel other addresses in each of its states.
func updateProbes() []probe.Probe {
	var out []probe.Probe
	for _, u := range addressUpdates {
		out = append(out,
			probe.Probe{Name: "custom/UpdateAddresses, ready/" + u.name, Run: func(p *probe.P) { updated(p, u.to, 2, true) }},
			probe.Probe{Name: "custom/UpdateAddresses, idle/" + u.name, Run: func(p *probe.P) { updated(p, u.to, 0, true) }},
			probe.Probe{Name: "custom/UpdateAddresses, failed/" + u.name, Run: func(p *probe.P) { updated(p, u.to, 2, false) }},
			probe.Probe{Name: "custom/UpdateAddresses, connecting/" + u.name, Run: func(p *probe.P) { updatedWhileConnecting(p, u.to) }},
		)
	}
	return out
}

// updated connects a subchannel and gives it other addresses after it has been told so many states; the
// first server runs, or refuses connections.
func updated(p *probe.P, to func(one, two resolver.Address) []resolver.Address, states int, runs bool) {
	j := &journal{}
	one, two := rig.Pair{TCP: true}.Serve(p), rig.Pair{TCP: true}.Serve(p)
	dials := &dialLog{names: map[string]string{one.Listener.Addr().String(): "one", two.Listener.Addr().String(): "two"}}
	if !runs {
		one.Server.Stop()
	}
	a, b := resolver.Address{Addr: one.Listener.Addr().String()}, resolver.Address{Addr: two.Listener.Addr().String()}
	withSubConn(p, func(cc balancer.ClientConn) {
		sc, _ := cc.NewSubConn([]resolver.Address{a}, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
			j.add("%v", s.ConnectivityState)
		}})
		if states > 0 {
			sc.Connect()
			j.wait(p, states)
		}
		probe.Settle(0)
		j.add("updated after %s", dials.take())
		cc.UpdateAddresses(sc, to(a, b))
		probe.Settle(0)
		j.add("then %s", dials.take())
		sc.Connect()
		probe.Settle(0)
		j.add("after Connect %s", dials.take())
		cc.RemoveSubConn(sc)
		probe.Settle(0)
	}, dials.options()...)
	j.print(p)
}

// updatedWhileConnecting gives a subchannel other addresses while its first dial does not return.
func updatedWhileConnecting(p *probe.P, to func(one, two resolver.Address) []resolver.Address) {
	j := &journal{}
	one, two := rig.Pair{TCP: true}.Serve(p), rig.Pair{TCP: true}.Serve(p)
	dials := &dialLog{
		names:  map[string]string{one.Listener.Addr().String(): "one", two.Listener.Addr().String(): "two"},
		stalls: true,
	}
	a, b := resolver.Address{Addr: one.Listener.Addr().String()}, resolver.Address{Addr: two.Listener.Addr().String()}
	withSubConn(p, func(cc balancer.ClientConn) {
		sc, _ := cc.NewSubConn([]resolver.Address{a}, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
			j.add("%v", s.ConnectivityState)
		}})
		sc.Connect()
		probe.Settle(0)
		j.add("updated after %s", dials.take())
		cc.UpdateAddresses(sc, to(a, b))
		probe.Settle(0)
		j.add("then %s", dials.take())
		cc.RemoveSubConn(sc)
		probe.Settle(0)
	}, dials.options()...)
	j.print(p)
}

// dialLog keeps who was dialed.
type dialLog struct {
	mu     sync.Mutex
	names  map[string]string // of addresses
	stalls bool              // the next dial lasts until its context ends
	lines  []string
}

// options have a channel dial by it. Who has failed is not dialed again for a minute.
func (d *dialLog) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			d.mu.Lock()
			d.lines = append(d.lines, d.names[addr])
			stalls := d.stalls
			d.stalls = false
			d.mu.Unlock()
			if stalls {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Minute, Multiplier: 1, MaxDelay: time.Minute}}),
	}
}

// take returns who was dialed since it was called last.
func (d *dialLog) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return fmt.Sprintf("dialed %q", lines)
}
