// SPDX-License-Identifier: Apache-2.0

// Package dns has the resolver that asks DNS for addresses and for the service config (naming.md,
// service_config.md). Between two lookups it has no goroutine.
package dns

import (
	"context"
	"math/rand/v2"
	"net"
	"os"

	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// dnsPort is the port of a DNS server if the target's authority has no port.
const dnsPort = "53"

// NewBuilder returns a Builder that makes lookups with package net.
func NewBuilder() *Builder {
	return &Builder{
		Server:          server,
		Percent:         func() int { return 1 + rand.IntN(100) },
		Hostname:        os.Hostname,
		IgnoreTXTErrors: envconfig.IgnoreTXTErrors,
		NoTXT:           !envconfig.EnableTXTServiceConfig,
		Backoff:         backoff.Default.Backoff,
	}
}

// Scheme returns "dns".
func (*Builder) Scheme() string { return scheme.DNS }

// Build returns a resolver for the target. If the target is an IP address, Build passes it to the
// channel before it returns. If it is a name, Build starts the first lookup and does not wait for
// it.
func (b *Builder) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	host, err := parseEndpoint(target.Endpoint())
	if err != nil {
		return nil, err
	}
	if host.isIP() {
		return static.Resolve(cc, host.address(host.name)), nil
	}
	srv, err := b.Server(target.URL.Host)
	if err != nil {
		return nil, err
	}
	r := &dnsResolver{
		cc: cc,
		query: query{
			Builder:  b,
			server:   srv,
			host:     host,
			noConfig: opts.DisableServiceConfig || b.NoTXT,
		},
	}
	r.ResolveNow(resolver.ResolveNowOptions{})
	return r, nil
}

// server returns the system's resolver, or one that asks the DNS server at authority.
func server(authority string) (Lookuper, error) {
	if authority == "" {
		return net.DefaultResolver, nil
	}
	at, err := parse(authority, dnsPort)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(at.name, at.port)
	return &net.Resolver{
		PreferGo: true, // the system's resolver would not use Dial
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}, nil
}
