// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"

	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/serviceconfig"
)

// Owner is the floor above, which knows messages and has the public types. Its methods may
// be called by any goroutine.
type Owner interface {
	// HealthStream opens a stream of the health service on l.
	HealthStream(ctx context.Context, l *Link, method string) (healthcheck.Stream, error)
	// ClientOf returns a grpc.ClientConnInterface whose RPCs go to sub's connection,
	// which producers get (balancer.ProducerBuilder).
	ClientOf(sub *Subchannel) any

	// ParseServiceConfig parses a service config, as resolvers ask for it, and
	// ServiceConfigOf returns what is in such a one; nil if it is none.
	ParseServiceConfig(js string) *serviceconfig.ParseResult
	ServiceConfigOf(serviceconfig.Config) *ServiceConfig
}
