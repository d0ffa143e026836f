// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"fmt"
	"net/netip"

	grpclbstate "google.golang.org/grpc/balancer/grpclb/state"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// run looks up the addresses and the service config concurrently.
func (q *query) run(ctx context.Context, parse configParser) (resolver.State, error) {
	if q.noConfig {
		return q.servers(ctx)
	}
	config := make(chan *serviceconfig.ParseResult, 1)
	go func() { config <- q.config(ctx, parse) }()
	state, err := q.servers(ctx)
	state.ServiceConfig = <-config
	return state, err
}

// servers looks up the addresses, and, after EnableSRV, those of load balancers. If there are load
// balancers, it is no error if there are no addresses.
func (q *query) servers(ctx context.Context) (resolver.State, error) {
	if !srvEnabled.Load() {
		return q.addresses(ctx)
	}
	balancers, srvErr := q.balancers(ctx)
	state, err := q.addresses(ctx)
	switch {
	case len(balancers) > 0:
		return grpclbstate.Set(state, &grpclbstate.State{BalancerAddresses: balancers}), nil
	case err != nil && srvErr != nil:
		return state, fmt.Errorf("%w; %w", err, srvErr)
	}
	return state, err
}

// addresses looks up A and AAAA records.
func (q *query) addresses(ctx context.Context) (resolver.State, error) {
	ips, err := q.server.LookupHost(ctx, q.host.name)
	if err != nil {
		return resolver.State{}, fmt.Errorf("dns: A record lookup error: %w", err)
	}
	list := make([]resolver.Address, len(ips))
	for i, ip := range ips {
		if _, err := netip.ParseAddr(ip); err != nil {
			return resolver.State{}, fmt.Errorf("dns: the answer for %q holds no IP address: %w", q.host.name, err)
		}
		list[i] = q.host.address(ip)
	}
	return static.State(list...), nil
}

// config looks up the service config. Nil means that there is none for this client.
func (q *query) config(ctx context.Context, parse configParser) *serviceconfig.ParseResult {
	records, err := q.server.LookupTXT(ctx, txtPrefix+q.host.name)
	if err != nil {
		if q.IgnoreTXTErrors || isNotFound(err) {
			return nil
		}
		return &serviceconfig.ParseResult{Err: fmt.Errorf("dns: TXT record lookup error: %w", err)}
	}
	json, err := q.chooseConfig(records)
	switch {
	case err != nil:
		return &serviceconfig.ParseResult{Err: err}
	case json == "":
		return nil
	}
	return parse(json)
}
