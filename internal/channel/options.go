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

// Options are what a channel was made with, and has for its whole life. Channels that are
// made alike share one: it must not be changed.
type Options struct {
	Transport transport.ClientConfig

	Creds  credentials.TransportCredentials
	Bundle credentials.Bundle
	PerRPC []credentials.PerRPCCredentials
	Dialer transport.DialFunc // nil: the system's, through a proxy if there is one

	Backoff           backoff.Strategy
	MinConnectTimeout time.Duration
	IdleTimeout       time.Duration // 0: never
	Scale             bool          // service configs may ask for several connections of a subchannel
	MaxScale          int           // of connections of a subchannel (gRFC A105); 0: the default
	NoServiceConfig   bool          // what the resolver brings is ignored
	NoHealthCheck     bool

	StableAfter  time.Duration // a connection that is lost sooner counts as a failed attempt; 0: none does
	ResolveEvery time.Duration // about how often the resolver is asked to look again; 0: when something fails
	// OnState is told each state of the channel, and why the last attempt to connect failed. Locks are
	// held: it must not block, nor use the channel. nil: nobody is told.
	OnState func(s connectivity.State, failure error)

	Fallback  *ServiceConfig // for when the resolver brings none
	Recorders *stats.Recorders
}

// SameAs says whether a channel may as well have the options p. What can't be compared,
// such as functions, counts as different. The recorders follow from the handlers.
func (o *Options) SameAs(p *Options) bool {
	return o.Dialer == nil && p.Dialer == nil &&
		o.OnState == nil && p.OnState == nil &&
		o.StableAfter == p.StableAfter &&
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
