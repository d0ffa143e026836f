// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/resolver"
)

// srvEnabled turns on lookups of load balancers.
var srvEnabled atomic.Bool

// EnableSRV makes all dns resolvers look up load balancers, as gRFC A26 says for programs with
// package grpclb. The init function of that package calls it.
func EnableSRV() { srvEnabled.Store(true) }

// srvLookuper is a Lookuper that can ask for SRV records. *net.Resolver implements it.
type srvLookuper interface {
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, records []*net.SRV, err error)
}

// balancers looks up _grpclb._tcp.<host> (gRFC A5), and the addresses of the load balancers that it
// names. If there are none, that is no error. With an error it returns those load balancers whose
// addresses it found nevertheless. For one whose own lookup failed these are its addresses of the last time.
func (q *query) balancers(ctx context.Context) ([]resolver.Address, error) {
	server, ok := q.server.(srvLookuper)
	if !ok {
		return nil, nil
	}
	_, records, err := server.LookupSRV(ctx, "grpclb", "tcp", q.host.name)
	if err != nil {
		if isNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("dns: SRV record lookup error: %w", err)
	}
	var out []resolver.Address
	var errs []error
	for _, r := range records {
		addrs, err := q.balancer(ctx, r)
		if err != nil {
			addrs = q.known.of(r)
		}
		out = append(out, addrs...)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// balancer looks up the addresses of the load balancer that r names.
func (q *query) balancer(ctx context.Context, r *net.SRV) ([]resolver.Address, error) {
	ips, err := q.server.LookupHost(ctx, r.Target)
	if err != nil {
		if isNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("dns: A record lookup error: %w", err)
	}
	out := make([]resolver.Address, len(ips))
	for i, ip := range ips {
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("dns: the answer for %q holds no IP address: %w", r.Target, err)
		}
		out[i] = resolver.Address{
			Addr:       net.JoinHostPort(ip, strconv.Itoa(int(r.Port))),
			ServerName: serverName(r),
		}
	}
	return out, nil
}

// isNotFound reports whether DNS answered that there is no such record.
func isNotFound(err error) bool {
	var dnsErr *net.DNSError
	return errors.As(err, &dnsErr) && dnsErr.IsNotFound
}

// serverName returns the name of the load balancer that r names.
func serverName(r *net.SRV) string { return strings.TrimSuffix(r.Target, ".") }

// of returns the addresses of the load balancer that r names.
func (k *known) of(r *net.SRV) []resolver.Address {
	var out []resolver.Address
	port := ":" + strconv.Itoa(int(r.Port))
	for _, a := range k.balancers {
		if a.ServerName == serverName(r) && strings.HasSuffix(a.Addr, port) {
			out = append(out, a)
		}
	}
	return out
}
