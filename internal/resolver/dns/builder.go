// SPDX-License-Identifier: Apache-2.0

// Package dns holds the resolver that asks DNS for addresses and for the service config
// (naming.md, service_config.md). Between two lookups it has no goroutine.
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

// dnsPort is the port of a DNS server whose authority names none.
const dnsPort = "53"

// Lookuper asks a DNS server; a net.Resolver is one.
type Lookuper interface {
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
	LookupTXT(ctx context.Context, name string) (records []string, err error)
}

// Builder makes dns resolvers. NewBuilder fills its fields.
type Builder struct {
	// Server returns the DNS server for a target's authority; empty means the
	// system's own.
	Server func(authority string) (Lookuper, error)
	// Percent returns a random number from 1 to 100, for service configs that
	// apply to a part of the clients.
	Percent func() int
	// Hostname returns this machine's name, for service configs that name it.
	Hostname func() (string, error)
	// IgnoreTXTErrors says that a failed TXT lookup means no service config, rather
	// than an invalid one.
	IgnoreTXTErrors bool
	// NoTXT says that no service config is looked for.
	NoTXT bool
	// Backoff is the pause before the next lookup after the given number of
	// failures in a row, less one.
	Backoff backoffFunc
}

// NewBuilder returns a builder over package net.
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

// Build tells the channel an address that needs no lookup before it returns. For a name
// it starts the first lookup and returns.
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
