// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	configCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(config) // also if code of the program, which parses it, ends the goroutine
		config <- q.config(configCtx, parse)
	}()
	state, err := q.servers(ctx)
	if err != nil {
		cancel() // nobody needs the service config, for which some networks let one wait
	}
	state.ServiceConfig = <-config
	return state, err
}

// servers looks up the addresses, and, after EnableSRV, those of load balancers, concurrently. If
// there are load balancers, it is no error if there are no addresses. A lookup that fails while the
// other one succeeds leaves what is known: a failure does not tell that there is nothing any more.
func (q *query) servers(ctx context.Context) (resolver.State, error) {
	if !srvEnabled.Load() {
		return q.addresses(ctx)
	}
	if q.known == nil {
		q.known = &known{}
	}
	var srvErr error
	srvDone := make(chan struct{})
	go func() {
		defer close(srvDone)
		srvErr = q.updateBalancers(ctx)
	}()
	state, err := q.addresses(ctx)
	<-srvDone
	if err == nil || isNotFound(err) {
		q.known.state = state
	}
	failed := err != nil && srvErr != nil
	if len(q.known.balancers) > 0 && (!failed || isNotFound(err)) {
		return grpclbstate.Set(q.known.state, &grpclbstate.State{BalancerAddresses: q.known.balancers}), nil
	}
	if failed {
		err = fmt.Errorf("%w; %w", err, srvErr)
	}
	return state, err
}

// updateBalancers looks up the load balancers. If that finds none because it fails, those of the last lookup stay.
func (q *query) updateBalancers(ctx context.Context) error {
	balancers, err := q.balancers(ctx)
	if err == nil || len(balancers) > 0 {
		q.known.balancers = balancers
	}
	return err
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

// isFinal reports whether a server has answered, and not with records: there are none, or it has none to give, as with
// one that refuses TXT records. To ask again would not help.
func isFinal(err error) bool {
	e, ok := errors.AsType[*net.DNSError](err)
	return ok && !e.IsTimeout && !e.IsTemporary
}

// config looks up the service config. Nil means that there is none for this client.
func (q *query) config(ctx context.Context, parse configParser) *serviceconfig.ParseResult {
	records, err := q.server.LookupTXT(ctx, txtPrefix+q.host.name)
	if err != nil {
		if q.IgnoreTXTErrors || isFinal(err) {
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
