// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// journal is a list of events that several goroutines write.
type journal struct {
	mu     sync.Mutex
	lines  []string
	change chan struct{}
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
	if j.change != nil {
		close(j.change)
		j.change = nil
	}
}

// wait waits until there are n lines, or a while.
func (j *journal) wait(p *probe.P, n int) {
	late := time.After(2 * time.Second)
	for {
		j.mu.Lock()
		if len(j.lines) >= n {
			j.mu.Unlock()
			return
		}
		if j.change == nil {
			j.change = make(chan struct{})
		}
		change := j.change
		j.mu.Unlock()
		select {
		case <-change:
		case <-late:
			p.Printf("only %d of %d events", len(j.lines), n)
			return
		}
	}
}

func (j *journal) print(p *probe.P) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		p.Printf("%s", l)
	}
}

// states prints the channel's states until it has reached the last.
func states(p *probe.P, cc *grpc.ClientConn, last connectivity.State) {
	ctx, cancel := context.WithTimeout(p.Context(), 4*time.Second)
	defer cancel()
	for state := cc.GetState(); ; state = cc.GetState() {
		p.Printf("state %v", state)
		if state == last || !cc.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// manualChannel is a channel whose addresses the probe gives.
func manualChannel(p *probe.P, opts ...grpc.DialOption) (*grpc.ClientConn, *manual.Resolver) {
	r := manual.NewBuilderWithScheme("manual")
	return channelTo(p, "manual:///x", append(opts, grpc.WithResolvers(r))...), r
}

func addresses(addrs ...string) resolver.State {
	var s resolver.State
	for _, a := range addrs {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	return s
}

// call is a call on a bare channel.
func call(ctx context.Context, cc grpc.ClientConnInterface, opts ...grpc.CallOption) string {
	out := new(rig.Msg)
	err := cc.Invoke(ctx, rig.Unary, rig.M("q"), out, opts...)
	return fmt.Sprintf("%q %s", out.GetValue(), rig.Err(err))
}

func server(p *probe.P) string { return rig.Pair{TCP: true}.Serve(p).Listener.Addr().String() }

// quick is a back-off that a probe can wait for.
var quick = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}, MinConnectTimeout: time.Second,
})

// resolvers are what a resolver may do.
var resolverProbes = []probe.Probe{
	{Name: "resolver/no addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.InitialState(resolver.State{})
		p.Printf("%s", call(p.Context(), cc))
		states(p, cc, connectivity.TransientFailure)
		p.Printf("%v", r.CC().UpdateState(resolver.State{}))
	}},
	{Name: "resolver/no addresses, round_robin", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`))
		r.InitialState(resolver.State{})
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", r.CC().UpdateState(resolver.State{}))
		p.Printf("%v", r.CC().UpdateState(resolver.State{Endpoints: []resolver.Endpoint{{}}}))
	}},
	{Name: "resolver/error first", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			rcc.ReportError(errors.New("resolver broke"))
		}
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/status error first", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			rcc.ReportError(status.Error(codes.PermissionDenied, "resolver denies"))
		}
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/error after addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		r.CC().ReportError(errors.New("resolver broke"))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/Build fails", Run: func(p *probe.P) {
		cc := channelTo(p, "say:///x", grpc.WithResolvers(sayResolver("me")))
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%s", call(p.Context(), cc, grpc.WaitForReady(true)))
		p.Printf("state %v", cc.GetState())
	}},
	{Name: "resolver/ResolveNow in Build", Run: func(p *probe.P) {
		cc, r := manualChannel(p, quick)
		asked := make(chan struct{}, 100)
		r.ResolveNowCallback = func(resolver.ResolveNowOptions) { asked <- struct{}{} }
		r.InitialState(addresses("127.0.0.1:1"))
		p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
		select {
		case <-asked:
			p.Printf("ResolveNow")
		case <-time.After(2 * time.Second):
			p.Printf("no ResolveNow")
		}
	}},
	{Name: "resolver/ResolveNow after a lost connection", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		asked := make(chan struct{}, 100)
		r.ResolveNowCallback = func(resolver.ResolveNowOptions) { asked <- struct{}{} }
		s := rig.Pair{TCP: true}.Serve(p)
		r.InitialState(addresses(s.Listener.Addr().String()))
		p.Printf("%s", call(p.Context(), cc))
		s.Server.Stop()
		select {
		case <-asked:
			p.Printf("ResolveNow")
		case <-time.After(2 * time.Second):
			p.Printf("no ResolveNow")
		}
	}},
	{Name: "resolver/BuildOptions", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDisableServiceConfig(), grpc.WithUserAgent("ua"))
		r.BuildCallback = func(t resolver.Target, _ resolver.ClientConn, o resolver.BuildOptions) {
			p.Printf("%v disable=%v creds=%v bundle=%v dialer=%v authority=%q metrics=%v", t.String(), o.DisableServiceConfig, o.DialCreds != nil,
				o.CredsBundle != nil, o.Dialer != nil, o.Authority, o.MetricsRecorder != nil)
		}
		cc.Connect()
		states(p, cc, connectivity.Connecting)
	}},
	{Name: "resolver/service config with an error", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		s := addresses(server(p))
		s.ServiceConfig = &serviceconfig.ParseResult{Err: errors.New("bad config")}
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", r.CC().UpdateState(s))
	}},
	{Name: "resolver/service config of a strange type", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		s := addresses(server(p))
		s.ServiceConfig = &serviceconfig.ParseResult{Config: strangeConfig{}}
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", r.CC().UpdateState(s))
	}},
	{Name: "resolver/error config after a good one", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		s := addresses(server(p))
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = r.CC().ParseServiceConfig(methodConfig(`"maxRequestMessageBytes":1`))
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = &serviceconfig.ParseResult{Err: errors.New("bad config")}
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = nil
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/config is ignored", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDisableServiceConfig(), grpc.WithDefaultServiceConfig(methodConfig(`"maxRequestMessageBytes":2`)))
		s := addresses(server(p))
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = r.CC().ParseServiceConfig(methodConfig(`"maxRequestMessageBytes":1`))
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/duplicate addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		a := server(p)
		r.InitialState(addresses(a, a, a))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/NewAddress", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		a := server(p)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			rcc.NewAddress(addresses(a).Addresses)
		}
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/manual before Build", Run: func(p *probe.P) {
		r := manual.NewBuilderWithScheme("manual")
		rig.Try(p, "UpdateState", func() error { r.UpdateState(resolver.State{}); return nil })
		rig.Try(p, "CC", func() error { r.CC(); return nil })
	}},
	{Name: "resolver/Close on idle", Run: func(p *probe.P) {
		j := &journal{}
		cc, r := manualChannel(p)
		r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { j.add("Build") }
		r.CloseCallback = func() { j.add("Close") }
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		_ = cc.Close()
		j.wait(p, 2)
		j.print(p)
	}},
	{Name: "resolver/authority override", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			req, err := r.AcceptAll()
			if err == nil {
				r.Headers(req.ID, true, ok("grpc-status", "5", "grpc-message", req.Get(":authority")+" "+req.Get(":scheme"))...)
			}
		})
		for _, target := range []string{"over:///a/b c", "over://h:1/x:2"} {
			for _, opts := range [][]grpc.DialOption{nil, {grpc.WithAuthority("option")}} {
				cc := channelTo(p, target, append(opts, grpc.WithResolvers(overrider{addr}))...)
				p.Printf("%s %s", target, call(p.Context(), cc))
				p.Printf("%s %s", target, call(p.Context(), cc, grpc.CallAuthority("call")))
			}
		}
	}},
	{Name: "resolver/ServerName of an address", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			req, err := r.AcceptAll()
			if err == nil {
				r.Headers(req.ID, true, ok("grpc-status", "5", "grpc-message", req.Get(":authority"))...)
			}
		})
		for _, opts := range [][]grpc.DialOption{nil, {grpc.WithAuthority("option")}} {
			cc, r := manualChannel(p, opts...)
			r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: addr, ServerName: "of.address"}}})
			p.Printf("%s", call(p.Context(), cc))
		}
	}},
}

// overrider gives an authority of its own.
type overrider struct{ addr string }

func (o overrider) Build(_ resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	_ = cc.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: o.addr}}})
	return manual.NewBuilderWithScheme("x"), nil
}
func (overrider) Scheme() string                             { return "over" }
func (overrider) OverrideAuthority(t resolver.Target) string { return "override." + t.URL.Host }

type strangeConfig struct{ serviceconfig.Config }

// loggingBalancer writes down what it is told, and does it through a child.
type loggingBalancer struct {
	balancer.Balancer
	j *journal
}

func (b loggingBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	b.j.add("UpdateClientConnState %d addresses %d endpoints", len(s.ResolverState.Addresses), len(s.ResolverState.Endpoints))
	return b.Balancer.UpdateClientConnState(s)
}
func (b loggingBalancer) ResolverError(err error) {
	b.j.add("ResolverError %v", err)
	b.Balancer.ResolverError(err)
}
func (b loggingBalancer) Close()    { b.Balancer.Close() }
func (b loggingBalancer) ExitIdle() { b.j.add("ExitIdle"); b.Balancer.ExitIdle() }

// loggingCC writes down what the child does.
type loggingCC struct {
	balancer.ClientConn
	j *journal
}

func (c loggingCC) NewSubConn(a []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	listener := o.StateListener
	o.StateListener = func(s balancer.SubConnState) {
		c.j.add("subchannel %v %v", s.ConnectivityState, s.ConnectionError != nil)
		listener(s)
	}
	c.j.add("NewSubConn of %d", len(a))
	return c.ClientConn.NewSubConn(a, o)
}
func (c loggingCC) UpdateState(s balancer.State) {
	c.j.add("UpdateState %v", s.ConnectivityState)
	c.ClientConn.UpdateState(s)
}
func (c loggingCC) ResolveNow(o resolver.ResolveNowOptions) {
	c.j.add("ResolveNow")
	c.ClientConn.ResolveNow(o)
}

// logged makes a channel use a policy of the module, with its words written down.
func logged(p *probe.P, j *journal, policy, config string) grpc.DialOption {
	return withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
		b := balancer.Get(policy)
		child := b.Build(loggingCC{cc, j}, o)
		var lb serviceconfig.LoadBalancingConfig
		if parser, is := b.(balancer.ConfigParser); is {
			lb, _ = parser.ParseConfig(json.RawMessage(config))
		}
		return configured{loggingBalancer{child, j}, lb}
	})
}

// configured gives its child a config.
type configured struct {
	balancer.Balancer
	config serviceconfig.LoadBalancingConfig
}

func (c configured) UpdateClientConnState(s balancer.ClientConnState) error {
	s.BalancerConfig = c.config
	return c.Balancer.UpdateClientConnState(s)
}

func (configured) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// policyProbes watch what policies do.
func policyProbes() []probe.Probe {
	var out []probe.Probe
	for _, policy := range []string{"pick_first", "round_robin"} {
		add := func(name string, run func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal)) {
			out = append(out, probe.Probe{Name: "policy/" + policy + " " + name, Run: func(p *probe.P) {
				j := &journal{}
				cc, r := manualChannel(p, logged(p, j, policy, "{}"), quick)
				run(p, cc, r, j)
				time.Sleep(50 * time.Millisecond) // what was said may still be on its way
				j.print(p)
			}})
		}
		add("of one", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal) {
			r.InitialState(addresses(server(p)))
			p.Printf("%s", call(p.Context(), cc))
			_ = cc.Close()
		})
		add("of none", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal) {
			r.InitialState(resolver.State{})
			p.Printf("%s", call(p.Context(), cc))
		})
		add("error, then addresses", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal) {
			r.InitialState(addresses(server(p)))
			p.Printf("%s", call(p.Context(), cc))
			r.CC().ReportError(errors.New("oops"))
			p.Printf("%s", call(p.Context(), cc))
		})
		add("addresses, then none", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal) {
			r.InitialState(addresses(server(p)))
			p.Printf("%s", call(p.Context(), cc))
			p.Printf("%v", r.CC().UpdateState(resolver.State{}))
			p.Printf("%s", call(p.Context(), cc))
		})
		add("the same again", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal) {
			s := addresses(server(p))
			r.InitialState(s)
			p.Printf("%s", call(p.Context(), cc))
			p.Printf("%v", r.CC().UpdateState(s))
			p.Printf("%s", call(p.Context(), cc))
		})
		add("connection refused", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver, j *journal) {
			r.InitialState(addresses("127.0.0.1:1"))
			p.Printf("%s", call(p.Context(), cc))
			states(p, cc, connectivity.TransientFailure)
			_ = cc.Close()
			j.mu.Lock()
			j.lines = nil
			j.mu.Unlock()
		})
	}
	return out
}

// customProbes are balancers that programs write.
var customProbes = []probe.Probe{
	{Name: "custom/nil picker result", Run: func(p *probe.P) {
		ctx, cancel := context.WithTimeout(p.Context(), 500*time.Millisecond)
		defer cancel()
		p.Printf("%s", pickWith(p, ctx, func(balancer.SubConn) (balancer.PickResult, error) { return balancer.PickResult{}, nil }))
	}},
	{Name: "custom/picker error", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, errors.New("no pick")
		}))
	}},
	{Name: "custom/picker status", Run: func(p *probe.P) {
		for _, c := range []codes.Code{codes.NotFound, codes.PermissionDenied, codes.Internal, codes.InvalidArgument} {
			p.Printf("%s", pickWith(p, p.Context(), func(balancer.SubConn) (balancer.PickResult, error) {
				return balancer.PickResult{}, status.Error(c, "picked")
			}))
		}
	}},
	{Name: "custom/picker wrapped status", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, fmt.Errorf("w: %w", status.Error(codes.PermissionDenied, "picked"))
		}))
	}},
	{Name: "custom/picker wrapped ErrNoSubConnAvailable", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, fmt.Errorf("w: %w", balancer.ErrNoSubConnAvailable)
		}))
	}},
	{Name: "custom/picker ErrTransientFailure", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, balancer.ErrTransientFailure
		}))
	}},
	{Name: "custom/picker drop with wait for ready", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{}, status.Error(codes.Unavailable, "dropped")
		}, grpc.WaitForReady(true)))
	}},
	{Name: "custom/picker metadata", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(sc balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{SubConn: sc, Metadata: metadata.Pairs("picked", "yes", "own", "picker")}, nil
		}))
	}},
	{Name: "custom/picker metadata with an authority", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(sc balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{SubConn: sc, Metadata: metadata.Pairs(":authority", "picked.example")}, nil
		}))
	}},
	{Name: "custom/Done", Run: func(p *probe.P) {
		p.Printf("%s", pickWith(p, p.Context(), func(sc balancer.SubConn) (balancer.PickResult, error) {
			return balancer.PickResult{SubConn: sc, Done: func(i balancer.DoneInfo) {
				p.Printf("done: %s trailer=%s sent=%v received=%v load=%v", rig.Err(i.Err), rig.MD(i.Trailer), i.BytesSent, i.BytesReceived, i.ServerLoad)
			}}, nil
		}))
	}},
	{Name: "custom/Build and first update", Run: func(p *probe.P) {
		told := make(chan string, 10)
		opt := withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
			told <- fmt.Sprintf("creds=%v bundle=%v dialer=%v authority=%q parent=%v ua=%q target=%q cc=%q", o.DialCreds != nil, o.CredsBundle != nil, o.Dialer != nil, o.Authority,
				o.ChannelzParent != nil, o.CustomUserAgent, o.Target.String(), cc.Target())
			return configured{balancer.Get("pick_first").Build(cc, o), nil}
		})
		cc, r := manualChannel(p, opt, grpc.WithUserAgent("mine"), grpc.WithAuthority("auth"))
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%s", <-told)
	}},
	{Name: "custom/NewSubConn without addresses", Run: func(p *probe.P) {
		withSubConn(p, func(cc balancer.ClientConn) {
			_, err := cc.NewSubConn(nil, balancer.NewSubConnOptions{})
			p.Printf("%s", rig.Err(err))
			_, err = cc.NewSubConn([]resolver.Address{}, balancer.NewSubConnOptions{})
			p.Printf("%s", rig.Err(err))
		})
	}},
	{Name: "custom/life of a subchannel", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, err := cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			p.Printf("%v", err)
			sc.Connect()
			j.wait(p, 2)
			sc.Connect()
			sc.Shutdown()
			j.wait(p, 3)
			sc.Shutdown()
			sc.Connect()
		})
		j.print(p)
	}},
	{Name: "custom/subchannel that cannot connect", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses("127.0.0.1:1").Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			sc.Connect()
			j.wait(p, 3)
		}, quick)
		j.print(p)
	}},
	{Name: "custom/subchannel whose server goes", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{TCP: true}.Serve(p)
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(s.Listener.Addr().String()).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			sc.Connect()
			j.wait(p, 2)
			s.Server.GracefulStop()
			j.wait(p, 3)
		}, quick)
		j.print(p)
	}},
	{Name: "custom/UpdateAddresses", Run: func(p *probe.P) {
		j := &journal{}
		one, two := server(p), server(p)
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(one).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v %v", s.ConnectivityState, s.ConnectionError)
			}})
			sc.Connect()
			j.wait(p, 2)
			cc.UpdateAddresses(sc, addresses(one, two).Addresses)
			cc.UpdateAddresses(sc, addresses(two).Addresses)
			j.wait(p, 4)
			cc.RemoveSubConn(sc)
			j.wait(p, 5)
		})
		j.print(p)
	}},
	{Name: "custom/health listener", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			var sc balancer.SubConn
			sc, _ = cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v", s.ConnectivityState)
				if s.ConnectivityState == connectivity.Ready {
					sc.RegisterHealthListener(func(s balancer.SubConnState) { j.add("health %v %v", s.ConnectivityState, s.ConnectionError) })
				}
			}})
			sc.Connect()
			j.wait(p, 3)
			sc.Shutdown()
			j.wait(p, 4)
		})
		j.print(p)
	}},
	{Name: "custom/producer", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
				j.add("%v", s.ConnectivityState)
			}})
			sc.Connect()
			j.wait(p, 2)
			b := producerBuilder{j}
			one, stop1 := sc.GetOrBuildProducer(b)
			two, stop2 := sc.GetOrBuildProducer(b)
			j.add("same: %v", one == two)
			stop1()
			stop1()
			j.add("one stopped")
			stop2()
			_, _ = sc.GetOrBuildProducer(b)
			sc.Shutdown()
			j.wait(p, 9)
		})
		j.print(p)
	}},
	{Name: "custom/UpdateState after Close", Run: func(p *probe.P) {
		var kept balancer.ClientConn
		withSubConn(p, func(cc balancer.ClientConn) { kept = cc })
		rig.Try(p, "UpdateState", func() error {
			kept.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: errPicker{errors.New("x")}})
			return nil
		})
		rig.Try(p, "NewSubConn", func() error {
			_, err := kept.NewSubConn(addresses("127.0.0.1:1").Addresses, balancer.NewSubConnOptions{})
			return err
		})
		rig.Try(p, "ResolveNow", func() error { kept.ResolveNow(resolver.ResolveNowOptions{}); return nil })
	}},
	{Name: "custom/credentials of a subchannel", Run: func(p *probe.P) {
		j := &journal{}
		withSubConn(p, func(cc balancer.ClientConn) {
			sc, _ := cc.NewSubConn(addresses(server(p)).Addresses, balancer.NewSubConnOptions{
				CredsBundle:   failingBundle{},
				StateListener: func(s balancer.SubConnState) { j.add("%v %v", s.ConnectivityState, s.ConnectionError) },
			})
			sc.Connect()
			j.wait(p, 2)
		})
		j.print(p)
	}},
}

type producerBuilder struct{ j *journal }

func (b producerBuilder) Build(cc any) (balancer.Producer, func()) {
	_, is := cc.(grpc.ClientConnInterface)
	b.j.add("build, channel: %v", is)
	return b.j, func() { b.j.add("close") }
}

type failingBundle struct{}

func (failingBundle) TransportCredentials() credentials.TransportCredentials {
	return failingCreds{insecure.NewCredentials()}
}
func (failingBundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }
func (b failingBundle) NewWithMode(string) (credentials.Bundle, error) { return b, nil }

type failingCreds struct {
	credentials.TransportCredentials
}

func (failingCreds) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("handshake of the bundle")
}
func (c failingCreds) Clone() credentials.TransportCredentials { return c }

// pickWith makes a call on a channel whose picker is pick, once its one subchannel is ready.
func pickWith(p *probe.P, ctx context.Context, pick func(balancer.SubConn) (balancer.PickResult, error), opts ...grpc.CallOption) string {
	s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1"))
		md, _ := metadata.FromIncomingContext(ctx)
		return rig.M(rig.MD(md)), nil
	}}}.Serve(p)
	opt := withBalancer(p, func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		return &oneSubConn{cc: cc, pick: pick}
	})
	cc, r := manualChannel(p, opt)
	r.InitialState(addresses(s.Listener.Addr().String()))
	return call(metadata.AppendToOutgoingContext(ctx, "own", "call"), cc, opts...)
}

type oneSubConn struct {
	cc   balancer.ClientConn
	pick func(balancer.SubConn) (balancer.PickResult, error)
}

func (b *oneSubConn) UpdateClientConnState(s balancer.ClientConnState) error {
	var sc balancer.SubConn
	sc, err := b.cc.NewSubConn(s.ResolverState.Addresses, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Ready {
			b.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pickFunc(func(balancer.PickInfo) (balancer.PickResult, error) { return b.pick(sc) })})
		}
	}})
	if err == nil {
		sc.Connect()
	}
	return err
}
func (*oneSubConn) ResolverError(error)                                        {}
func (*oneSubConn) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (*oneSubConn) Close()                                                     {}
func (*oneSubConn) ExitIdle()                                                  {}

type pickFunc func(balancer.PickInfo) (balancer.PickResult, error)

func (f pickFunc) Pick(i balancer.PickInfo) (balancer.PickResult, error) { return f(i) }

// withSubConn gives do the channel of a balancer, outside of the balancer's own calls.
func withSubConn(p *probe.P, do func(balancer.ClientConn), opts ...grpc.DialOption) {
	built := make(chan balancer.ClientConn, 1)
	t := &tellingBalancer{make: func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		built <- cc
		return deafBalancer{&tellingBalancer{failed: make(chan error, 100)}}
	}}
	cc, r := manualChannel(p, append(opts, t.use(p))...)
	r.InitialState(addresses("127.0.0.1:1"))
	cc.Connect()
	do(<-built)
	_ = cc.Close()
}

// stateProbes are the channel's states.
var stateProbes = []probe.Probe{
	{Name: "state/of a good server", Run: func(p *probe.P) {
		cc := channelTo(p, server(p))
		p.Printf("%v", cc.GetState())
		cc.Connect()
		states(p, cc, connectivity.Ready)
		_ = cc.Close()
		p.Printf("%v", cc.GetState())
	}},
	{Name: "state/of nobody", Run: func(p *probe.P) {
		cc := channelTo(p, "127.0.0.1:1")
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "state/server closes at once", Run: func(p *probe.P) {
		cc := channelTo(p, rig.ConnServer(p, func(net.Conn) {}))
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
	}},
	{Name: "state/server closes after settings", Run: func(p *probe.P) {
		cc := channelTo(p, rig.RawServer(p, func(*rig.Raw) {}))
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
	}},
	{Name: "state/server speaks HTTP 1", Run: func(p *probe.P) {
		cc := channelTo(p, rig.ConnServer(p, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }))
		cc.Connect()
		states(p, cc, connectivity.TransientFailure)
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "state/server sends GOAWAY after settings", Run: func(p *probe.P) {
		cc := channelTo(p, rig.RawServer(p, func(r *rig.Raw) {
			_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
			_, _ = r.Accept()
		}))
		cc.Connect()
		states(p, cc, connectivity.Idle)
	}},
	{Name: "state/server stops gracefully", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.GracefulStop()
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		p.Printf("%v", s.GetState())
	}},
	{Name: "state/server stops", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.Stop()
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		p.Printf("%v", s.GetState())
	}},
	{Name: "state/idle timeout", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Dial: []grpc.DialOption{grpc.WithIdleTimeout(20 * time.Millisecond)}}.Start(p)
		s.Ready(p)
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		p.Printf("%v", s.GetState())
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "state/WaitForStateChange with an ended context", Run: func(p *probe.P) {
		cc := channelTo(p, "127.0.0.1:1")
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		p.Printf("%v %v", cc.WaitForStateChange(ctx, connectivity.Idle), cc.WaitForStateChange(ctx, connectivity.Ready))
	}},
	{Name: "state/after Close", Run: func(p *probe.P) {
		cc := channelTo(p, "127.0.0.1:1")
		p.Printf("%v", cc.Close())
		p.Printf("%s", rig.Err(cc.Close()))
		cc.Connect()
		cc.ResetConnectBackoff()
		p.Printf("%v", cc.GetState())
		p.Printf("%s", call(p.Context(), cc))
		_, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		p.Printf("%v", cc.WaitForStateChange(p.Context(), connectivity.Ready))
	}},
	{Name: "state/Dial with block", Run: func(p *probe.P) {
		ctx, cancel := context.WithTimeout(p.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := grpc.DialContext(ctx, "127.0.0.1:1", grpc.WithInsecure(), grpc.WithBlock())
		p.Printf("%s", rig.Err(err))
		_, err = grpc.DialContext(ctx, "127.0.0.1:1", grpc.WithInsecure(), grpc.WithReturnConnectionError())
		p.Printf("%s", rig.Err(err))
		_, err = grpc.Dial("127.0.0.1:1", grpc.WithInsecure(), grpc.WithBlock(), grpc.WithTimeout(100*time.Millisecond))
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "state/Dial that may fail", Run: func(p *probe.P) {
		dialer := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("plain dial error") })
		ctx, cancel := context.WithTimeout(p.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := grpc.DialContext(ctx, "x", grpc.WithInsecure(), grpc.WithBlock(), dialer, grpc.FailOnNonTempDialError(true))
		p.Printf("%s", rig.Err(err))
		_, err = grpc.DialContext(ctx, "x", grpc.WithInsecure(), grpc.WithBlock(), dialer, grpc.WithReturnConnectionError())
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "state/call while connecting fails", Run: func(p *probe.P) {
		ctx, cancel := context.WithTimeout(p.Context(), 200*time.Millisecond)
		defer cancel()
		cc := channelTo(p, "127.0.0.1:1")
		p.Printf("%s", call(ctx, cc, grpc.WaitForReady(true)))
	}},
	{Name: "state/deadline before the resolver speaks", Run: func(p *probe.P) {
		ctx, cancel := context.WithTimeout(p.Context(), 50*time.Millisecond)
		defer cancel()
		cc, _ := manualChannel(p)
		p.Printf("%s", call(ctx, cc))
	}},
	{Name: "state/deadline while connecting", Run: func(p *probe.P) {
		ctx, cancel := context.WithTimeout(p.Context(), 50*time.Millisecond)
		defer cancel()
		block := make(chan struct{})
		p.Cleanup(func() { close(block) })
		cc := channelTo(p, rig.ConnServer(p, func(net.Conn) { <-block }))
		p.Printf("%s", call(ctx, cc))
	}},
	{Name: "state/dialer's errors", Run: func(p *probe.P) {
		for _, err := range []error{
			errors.New("plain"), status.Error(codes.PermissionDenied, "denied"), context.DeadlineExceeded, context.Canceled,
			&net.OpError{Op: "dial", Err: errors.New("op")}, fmt.Errorf("w: %w", status.Error(codes.NotFound, "nf")),
		} {
			cc := channelTo(p, "passthrough:///addr", grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, err }))
			p.Printf("%v: %s", err, call(p.Context(), cc))
		}
	}},
	{Name: "state/handshake's errors", Run: func(p *probe.P) {
		cc := channelTo(p, server(p), grpc.WithTransportCredentials(failingCreds{insecure.NewCredentials()}))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "state/address that a dialer gets", Run: func(p *probe.P) {
		for _, target := range []string{"passthrough:///a b", "unix:/tmp/x.sock", "unix:rel", "unix:///tmp/y", "unix-abstract:abc", "127.0.0.1:5", "dns:///127.0.0.1", "[::1]"} {
			got := make(chan string, 100)
			cc := channelTo(p, target, grpc.WithContextDialer(func(_ context.Context, a string) (net.Conn, error) {
				got <- a
				return nil, errors.New("no")
			}))
			cc.Connect()
			p.Printf("%s: %q", target, <-got)
		}
	}},
}
