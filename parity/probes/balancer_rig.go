// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/serviceconfig"
)

func urlParse(s string) (*url.URL, error) { return url.Parse(s) }

// tellingBalancer tells how it was built and what came from the resolver first.
type tellingBalancer struct {
	built  chan balancer.BuildOptions
	failed chan error
	// custom are balancers of probes: one a channel.
	make func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer
}

// delegates are the balancers of probes that run, by the name in the service config.
var delegates sync.Map

func init() { balancer.Register(delegating{}) }

// delegating builds the balancer that its config names: names of policies are registered
// when a program starts, and probes run at the same time.
type delegating struct{}

func (delegating) Name() string { return "probe_delegating" }

type delegateConfig struct {
	serviceconfig.LoadBalancingConfig
	Name string
}

func (delegating) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &delegateConfig{}
	if err := json.Unmarshal(js, c); err != nil {
		return nil, err
	}
	if c.Name == "" {
		return nil, errors.New("no name")
	}
	return c, nil
}

func (delegating) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return &delegate{cc: cc, opts: o}
}

// delegate waits for its first config, which names the balancer.
type delegate struct {
	balancer.Balancer
	cc   balancer.ClientConn
	opts balancer.BuildOptions
}

func (d *delegate) UpdateClientConnState(s balancer.ClientConnState) error {
	if d.Balancer == nil {
		make, found := delegates.Load(s.BalancerConfig.(*delegateConfig).Name)
		if !found {
			return errors.New("no such delegate")
		}
		d.Balancer = make.(func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer)(d.cc, d.opts)
	}
	return d.Balancer.UpdateClientConnState(s)
}

func (d *delegate) ResolverError(err error) {
	if d.Balancer != nil {
		d.Balancer.ResolverError(err)
		return
	}
	d.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: errPicker{err}})
}

func (d *delegate) Close() {
	if d.Balancer != nil {
		d.Balancer.Close()
	}
}

func (d *delegate) ExitIdle() {
	if d.Balancer != nil {
		d.Balancer.ExitIdle()
	}
}

// errPicker fails every call.
type errPicker struct{ err error }

func (e errPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, e.err
}

// withBalancer makes a channel use the balancer that make makes.
func withBalancer(p *probe.P, make func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer) grpc.DialOption {
	name := fmt.Sprintf("%p", p)
	delegates.Store(name, make)
	p.Cleanup(func() { delegates.Delete(name) })
	return grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"probe_delegating":{"name":"` + name + `"}}]}`)
}

// use returns the option that makes t the balancer of a channel.
func (t *tellingBalancer) use(p *probe.P) grpc.DialOption {
	t.built = make(chan balancer.BuildOptions, 1)
	t.failed = make(chan error, 100)
	return withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
		t.built <- o
		if t.make != nil {
			return t.make(cc, o)
		}
		return deafBalancer{t}
	})
}

// deafBalancer does nothing.
type deafBalancer struct{ t *tellingBalancer }

func (deafBalancer) UpdateClientConnState(balancer.ClientConnState) error       { return nil }
func (b deafBalancer) ResolverError(err error)                                  { b.t.failed <- err }
func (deafBalancer) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (deafBalancer) Close()                                                     {}
func (deafBalancer) ExitIdle()                                                  {}
