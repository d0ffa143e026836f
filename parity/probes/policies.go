// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/serviceconfig"
)

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
				probe.Settle(50 * time.Millisecond) // what was said may still be on its way
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
