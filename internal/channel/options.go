// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/same"
	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport"
)

// Options are what a channel was made with, and do not change during its life. Channels with the
// same options share one Options value, so nobody may change it.
type Options struct {
	Transport transport.ClientConfig

	Creds  credentials.TransportCredentials
	Bundle credentials.Bundle
	PerRPC []credentials.PerRPCCredentials
	Dialer transport.DialFunc // nil: the system's dialer, through a proxy if there is one

	Backoff           backoff.Strategy
	MinConnectTimeout time.Duration
	IdleTimeout       time.Duration // 0: never
	Scale             bool          // a service config may let a subchannel have several connections
	MaxScale          int           // the most connections of a subchannel (gRFC A105); 0: the default
	NoServiceConfig   bool          // the service config that the resolver returns is ignored
	NoHealthCheck     bool

	Nesting      int           // how many channels lie above this one, which a balancer made for itself (package nesting)
	StableAfter  time.Duration // a connection that is lost sooner counts as a failed attempt; 0: never
	ResolveEvery time.Duration // about how often the resolver is asked to resolve again; 0: only when something fails
	// OnState is called with each new state of the channel and the error of the last attempt to
	// connect that failed. The caller holds locks, so OnState must not block or use the channel. It
	// may be nil.
	OnState func(s connectivity.State, failure error)

	Fallback  *ServiceConfig // used while the resolver has returned none
	Recorders *stats.Recorders
}

// SameAs reports whether a channel with options o behaves as one with options p. Values that can't
// be compared, such as functions, count as different. Recorders are not compared, as they follow
// from the stats handlers.
func (o *Options) SameAs(p *Options) bool {
	return o.Dialer == nil && p.Dialer == nil &&
		o.OnState == nil && p.OnState == nil &&
		o.StableAfter == p.StableAfter &&
		o.Nesting == p.Nesting &&
		o.ResolveEvery == p.ResolveEvery &&
		o.Fallback == p.Fallback &&
		o.MinConnectTimeout == p.MinConnectTimeout &&
		o.IdleTimeout == p.IdleTimeout &&
		o.Scale == p.Scale &&
		o.MaxScale == p.MaxScale &&
		o.NoServiceConfig == p.NoServiceConfig &&
		o.NoHealthCheck == p.NoHealthCheck &&
		same.Value(o.Creds, p.Creds) &&
		same.Value(o.Bundle, p.Bundle) &&
		sameBackoff(o.Backoff, p.Backoff) &&
		slices.EqualFunc(o.PerRPC, p.PerRPC, same.Value) &&
		o.Transport.SameAs(&p.Transport)
}

func sameBackoff(a, b backoff.Strategy) bool {
	p, ok := a.(*backoff.Exponential)
	q, also := b.(*backoff.Exponential)
	if ok && also {
		return p.Config == q.Config && p.Random == nil && q.Random == nil
	}
	return same.Value(a, b)
}
