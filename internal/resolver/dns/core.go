// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Lookuper asks a DNS server. *net.Resolver implements it.
type Lookuper interface {
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
	LookupTXT(ctx context.Context, name string) (records []string, err error)
}

// Builder makes dns resolvers. NewBuilder fills its fields.
type Builder struct {
	// Server returns the DNS server for a target's authority. An empty authority means the system's
	// resolver.
	Server func(authority string) (Lookuper, error)
	// Percent returns a random number from 1 to 100, for service configs that
	// apply to a part of the clients.
	Percent func() int
	// Hostname returns this machine's name, for service configs that name it.
	Hostname func() (string, error)
	// IgnoreTXTErrors says that a failed TXT lookup counts as no service config. Otherwise it
	// counts as an invalid one.
	IgnoreTXTErrors bool
	// NoTXT turns off lookups of service configs.
	NoTXT bool
	// Backoff returns the pause before the next lookup. It gets the number of failures in a row,
	// minus one.
	Backoff backoffFunc
}

// query makes the lookups of one resolver, one after the other.
type query struct {
	*Builder
	server   Lookuper
	host     hostPort
	noConfig bool
	known    *known // made when it is needed, as most programs do not use load balancers
}

// known is what the last lookups that did not fail found.
type known struct {
	state     resolver.State // has the addresses alone
	balancers []resolver.Address
}

// configParser is the type of ClientConn.ParseServiceConfig.
type configParser func(json string) *serviceconfig.ParseResult
