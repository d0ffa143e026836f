// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// resolverWrapper is the channel as its resolver sees it, from one idle mode to the
// next.
type resolverWrapper struct {
	ch *Channel // immutable
	// calls keeps ResolveNow from running on the balancer's goroutine: a resolver
	// may well call UpdateState from it, which waits for the balancer.
	calls serializer.Serializer

	mu       sync.Mutex
	resolver resolver.Resolver // nil before Build returned
	wanted   bool              // ResolveNow was called before that
	closed   bool
}

// start builds the resolver, which may call the methods below meanwhile.
func (r *resolverWrapper) start() error {
	ch := r.ch
	built, err := ch.builder.Build(ch.Parsed(), r, resolver.BuildOptions{
		DisableServiceConfig: ch.opts.NoServiceConfig,
		DialCreds:            ch.opts.Creds,
		CredsBundle:          ch.opts.Bundle,
		Dialer:               ch.opts.Dialer,
		Authority:            ch.authority,
		MetricsRecorder:      ch.opts.Recorders,
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	closed, wanted := r.closed, r.wanted
	r.resolver = built
	r.mu.Unlock()
	switch {
	case closed:
		built.Close()
	case wanted:
		r.resolveNow()
	}
	return nil
}

// close may be called while start is building: start then closes what it built.
func (r *resolverWrapper) close() {
	r.calls.Close()
	r.mu.Lock()
	closing := r.resolver
	if r.closed {
		closing = nil
	}
	r.closed = true
	r.mu.Unlock()
	if closing != nil {
		closing.Close()
	}
}

func (r *resolverWrapper) resolveNow() {
	r.mu.Lock()
	to := r.resolver
	r.wanted = to == nil
	if r.closed {
		to = nil
	}
	r.mu.Unlock()
	if _, never := to.(static.Resolver); to == nil || never {
		return
	}
	r.calls.Go(func() { to.ResolveNow(resolver.ResolveNowOptions{}) })
}

// UpdateState implements resolver.ClientConn.
func (r *resolverWrapper) UpdateState(s resolver.State) error {
	if s.Endpoints == nil {
		s.Endpoints = endpointsOf(s.Addresses)
	}
	r.ch.node.Trace(channelz.Info, fmt.Sprintf("Resolver state updated: %d endpoints", len(s.Endpoints)), nil)
	return r.ch.resolverUpdate(r, s)
}

// ReportError implements resolver.ClientConn.
func (r *resolverWrapper) ReportError(err error) {
	logger.Infof("%s: the resolver failed: %v", r.ch.Name, err)
	r.ch.node.Trace(channelz.Warning, "the resolver failed: "+err.Error(), nil)
	r.ch.resolverFailed(r, err)
}

// NewAddress implements resolver.ClientConn.
func (r *resolverWrapper) NewAddress(addresses []resolver.Address) {
	_ = r.UpdateState(resolver.State{Addresses: addresses})
}

// ParseServiceConfig implements resolver.ClientConn.
func (r *resolverWrapper) ParseServiceConfig(js string) *serviceconfig.ParseResult {
	return r.ch.owner.ParseServiceConfig(js)
}

// endpointsOf makes an endpoint of each address, for balancers that look at endpoints
// only. Attributes meant for the balancer go along.
func endpointsOf(addrs []resolver.Address) []resolver.Endpoint {
	endpoints := make([]resolver.Endpoint, len(addrs))
	for i, a := range addrs {
		//lint:ignore SA1019 resolvers still set it
		endpoints[i] = resolver.Endpoint{Addresses: []resolver.Address{a}, Attributes: a.BalancerAttributes}
		//lint:ignore SA1019 it moved to the endpoint
		endpoints[i].Addresses[0].BalancerAttributes = nil
	}
	return endpoints
}
