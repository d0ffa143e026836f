// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// changingBundle has other credentials each time that it is asked: it tells whether they are those of a
// channel, of a connection, or of an RPC.
type changingBundle struct {
	mu     sync.Mutex
	asked  map[string]int
	shakes []string // which credentials made which handshake
}

func (b *changingBundle) next(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked == nil {
		b.asked = make(map[string]int)
	}
	b.asked[what]++
	return b.asked[what]
}

// TransportCredentials implements credentials.Bundle.
func (b *changingBundle) TransportCredentials() credentials.TransportCredentials {
	return numberedCreds{insecure.NewCredentials(), b, b.next("transport")}
}

// PerRPCCredentials implements credentials.Bundle.
func (b *changingBundle) PerRPCCredentials() credentials.PerRPCCredentials {
	return token{md: map[string]string{"token": fmt.Sprint("token ", b.next("RPC"))}}
}

// NewWithMode implements credentials.Bundle.
func (b *changingBundle) NewWithMode(mode string) (credentials.Bundle, error) {
	b.next("mode " + mode)
	return b, nil
}

func (b *changingBundle) print(p *probe.P) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.shakes)
	// How often a channel asks before it connects is its own affair.
	n := len(b.shakes)
	p.Printf("%d handshakes by %d credentials, asked for tokens each time: %v", n, len(slices.Compact(slices.Clone(b.shakes))), n > 0 && b.asked["RPC"] >= n)
}

// numberedCreds are those of a bundle's n-th answer.
type numberedCreds struct {
	credentials.TransportCredentials
	of *changingBundle
	n  int
}

// ClientHandshake implements credentials.TransportCredentials.
func (c numberedCreds) ClientHandshake(ctx context.Context, name string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.of.mu.Lock()
	c.of.shakes = append(c.of.shakes, fmt.Sprint(c.n))
	c.of.mu.Unlock()
	return c.TransportCredentials.ClientHandshake(ctx, name, conn)
}

// Clone implements credentials.TransportCredentials.
func (c numberedCreds) Clone() credentials.TransportCredentials { return c }

// tokenServer answers with the token that came.
func tokenServer(p *probe.P) *rig.Started {
	return rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		return rig.M(fmt.Sprint(metadata.ValueFromIncomingContext(ctx, "token"))), nil
	}}}.Serve(p)
}

func (s *scope) bundled(p *probe.P, b *changingBundle, policy string, addrs ...string) *grpc.ClientConn {
	cc, err := grpc.NewClient("fixed:///x", quick, grpc.WithCredentialsBundle(b), grpc.WithResolvers(fixed(addrs)),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+policy+`":{}}]}`))
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = cc.Close() })
	return cc
}

// fixed resolves to addresses.
type fixed []string

// Scheme implements resolver.Builder.
func (fixed) Scheme() string { return "fixed" }

// Build implements resolver.Builder.
func (f fixed) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	_ = cc.UpdateState(addresses(f...))
	return f, nil
}

// ResolveNow implements resolver.Resolver.
func (fixed) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (fixed) Close() {}

// bundleScopes are of credentials bundles, and of dialers.
func bundleScopes() (out scopeList) {
	one := out.add
	one("a bundle, two RPCs", func(p *probe.P, s *scope) {
		b := &changingBundle{}
		cc := s.bundled(p, b, "pick_first", tokenServer(p).Listener.Addr().String())
		for range 2 {
			p.Printf("%s", call(p.Context(), cc))
		}
		b.print(p)
	})
	one("a bundle, two servers", func(p *probe.P, s *scope) {
		b := &changingBundle{}
		cc := s.bundled(p, b, "round_robin", tokenServer(p).Listener.Addr().String(), tokenServer(p).Listener.Addr().String())
		cc.Connect()
		probe.Settle(0)
		seen := make(map[string]bool)
		for range 4 {
			seen[call(p.Context(), cc)] = true
		}
		printKeys(p, seen)
		b.print(p)
	})
	one("a bundle, a server that comes again", func(p *probe.P, s *scope) {
		b := &changingBundle{}
		first := tokenServer(p)
		cc := s.bundled(p, b, "pick_first", first.Listener.Addr().String(), tokenServer(p).Listener.Addr().String())
		before := call(p.Context(), cc)
		p.Printf("%s", before)
		first.Server.Stop()
		probe.Settle(0)
		p.Printf("the same token: %v", call(p.Context(), cc, grpc.WaitForReady(true)) == before)
		b.print(p)
	})
	one("a bundle of a subchannel", func(p *probe.P, _ *scope) {
		of, own := &changingBundle{}, &changingBundle{}
		server := tokenServer(p)
		opt := withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
			return configured{balancer.Get("pick_first").Build(bundlingCC{cc, own}, o), nil}
		})
		r := fixed{server.Listener.Addr().String()}
		cc, err := grpc.NewClient("fixed:///x", quick, grpc.WithCredentialsBundle(of), grpc.WithResolvers(r), opt)
		if err != nil {
			panic(err)
		}
		p.Cleanup(func() { _ = cc.Close() })
		for range 2 {
			p.Printf("%s", call(p.Context(), cc))
		}
		of.print(p)
		own.print(p)
	})
	for _, policy := range []string{"pick_first", "round_robin"} {
		one("a dialer, three addresses, "+policy, func(p *probe.P, _ *scope) { dialedEach(p, policy) })
	}
	return out
}

// bundlingCC gives subchannels a bundle of their own.
type bundlingCC struct {
	balancer.ClientConn
	b credentials.Bundle
}

// NewSubConn implements balancer.ClientConn.
func (c bundlingCC) NewSubConn(a []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	o.CredsBundle = c.b
	return c.ClientConn.NewSubConn(a, o)
}

// dialedEach prints what a dialer, and the credentials behind it, are told of each address.
func dialedEach(p *probe.P, policy string) {
	var mu sync.Mutex
	seen := make(map[string]bool)
	cc, r := manualChannel(p, quick, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+policy+`":{}}]}`),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			_, limited := ctx.Deadline()
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprintf("%s limited=%v", addr, limited)] = true
			return nil, fmt.Errorf("no way to %s", addr)
		}))
	r.InitialState(resolver.State{Endpoints: []resolver.Endpoint{
		{Addresses: []resolver.Address{{Addr: "a:1", ServerName: "name.of.a"}, {Addr: "b"}}}, {Addresses: []resolver.Address{{Addr: "c:1"}}},
	}})
	end := call(p.Context(), cc)
	p.Printf("%v", strings.Contains(end, "no way to "))
	probe.Settle(moment)
	mu.Lock()
	defer mu.Unlock()
	printKeys(p, seen)
}

// hostProbes have endpoints of one cluster with names of their own, where the control plane may choose the
// authority (gRFC A81).
func hostProbes() []probe.Probe {
	var out []probe.Probe
	for _, trusted := range []bool{false, true} {
		for _, rewrite := range []bool{false, true} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("client/hosts of endpoints, trusted %v, rewritten %v", trusted, rewrite), Run: func(p *probe.P) {
				s := newXDSState(p)
				ports := []uint32{authorityPort(p), authorityPort(p)}
				s.endpoints[0] = plane.Endpoints("a", plane.Locality("z", 0, ports...))
				s.endpoints[0].Endpoints[0].LbEndpoints[0].GetEndpoint().Hostname = "one.example"
				s.endpoints[0].Endpoints[0].LbEndpoints[1].GetEndpoint().Hostname = "two.example"
				if rewrite {
					actionOf(s).HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
				}
				control := plane.Start(p, s.all()...)
				config := control.Bootstrap()
				if trusted {
					config = strings.Replace(config, `"channel_creds"`, `"server_features":["trusted_xds_server"],"channel_creds"`, 1)
				}
				cc, err := grpc.NewClient("xds:///svc", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(xdsResolver(config)))
				if err != nil {
					panic(err)
				}
				p.Cleanup(func() { _ = cc.Close() })
				_ = call(p.Context(), cc)
				probe.Settle(0)
				seen := make(map[string]bool)
				for range 20 {
					seen[call(p.Context(), cc)] = true
				}
				printKeys(p, seen)
				p.Printf("%s", call(p.Context(), cc, grpc.CallAuthority("of.call")))
				for _, e := range s.endpoints[0].Endpoints[0].LbEndpoints {
					e.GetEndpoint().Hostname = "another.example"
				}
				control.Set(s.all()...)
				probe.Settle(moment)
				p.Printf("another name: %s", call(p.Context(), cc))
			}})
		}
	}
	return out
}

// authorityPort is the port of a server that answers with the authority of the call.
func authorityPort(p *probe.P) uint32 {
	return uint32(rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		return rig.M(fmt.Sprint(metadata.ValueFromIncomingContext(ctx, ":authority"))), nil
	}}}.Serve(p).Listener.Addr().(*net.TCPAddr).Port)
}
