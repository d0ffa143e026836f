// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"fmt"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

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
	logger.Warningf("%s: ccResolverWrapper: reporting error to cc: %v", r.ch.Name, err)
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

// endpointsOf makes one endpoint of each address, for balancers that use endpoints only. It moves
// an address's BalancerAttributes to the endpoint.
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
