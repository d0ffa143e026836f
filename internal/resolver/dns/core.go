// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"

	"google.golang.org/grpc/serviceconfig"
)

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

// query is what one resolver asks of DNS.
type query struct {
	*Builder
	server   Lookuper
	host     hostPort
	noConfig bool
}

// configParser is ClientConn.ParseServiceConfig.
type configParser func(json string) *serviceconfig.ParseResult
