// SPDX-License-Identifier: Apache-2.0

// Package balancer is how a channel spreads RPCs over servers: a Builder is registered
// under a name, its Balancer makes SubConns for the addresses that the resolver found
// and gives the channel Pickers that choose one for each RPC (load-balancing.md).
//
// All of it may change or go in a later release.
package balancer

import (
	"context"
	"encoding/json"
	"net"

	"google.golang.org/grpc/channelz"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Builder makes the balancers of one name.
type Builder interface {
	// Build makes a balancer for a channel.
	Build(cc ClientConn, opts BuildOptions) Balancer
	// Name is the name by which a service config chooses the balancer: lower case.
	Name() string
}

// ConfigParser is a Builder whose balancers take a configuration.
type ConfigParser interface {
	// ParseConfig turns the JSON of the balancer's configuration into what
	// UpdateClientConnState will be given. An error makes the whole service config
	// invalid.
	ParseConfig(LoadBalancingConfigJSON json.RawMessage) (serviceconfig.LoadBalancingConfig, error)
}

// BuildOptions is what a channel tells the builder of its balancer.
type BuildOptions struct {
	// DialCreds are the channel's transport credentials, for a balancer that makes
	// connections of its own. May be nil.
	DialCreds credentials.TransportCredentials
	// CredsBundle is the channel's credentials bundle. May be nil.
	CredsBundle credentials.Bundle
	// Dialer is the channel's own dialer. Nil means the default one.
	Dialer func(context.Context, string) (net.Conn, error)
	// Authority is the channel's :authority.
	Authority string
	// ChannelzParent is the channel in channelz.
	ChannelzParent channelz.Identifier
	// CustomUserAgent is what the program put in front of the user agent.
	CustomUserAgent string
	// Target is the channel's target.
	Target resolver.Target
}

// Balancer watches what the resolver finds and the state of its SubConns, and gives the
// channel a Picker for each change. The channel calls its methods, and the listeners of
// its SubConns, one at a time.
type Balancer interface {
	// UpdateClientConnState is told what the resolver found, and the balancer's
	// configuration. ErrBadResolverState tells the channel to have the resolver try
	// again.
	UpdateClientConnState(ClientConnState) error
	// ResolverError is told that the resolver failed.
	ResolverError(error)
	// UpdateSubConnState is told the state of a SubConn that was made without a
	// StateListener.
	//
	// Deprecated: use NewSubConnOptions.StateListener.
	UpdateSubConnState(SubConn, SubConnState)
	// Close ends the balancer. It is the last call, and the balancer shuts its
	// SubConns down or leaves that to the channel, which does it anyway.
	Close()
	// ExitIdle has the balancer connect, where it is idle.
	ExitIdle()
}

// ExitIdler is a balancer that can leave idleness.
//
// Deprecated: every Balancer has the method.
type ExitIdler interface {
	// ExitIdle has the balancer connect, where it is idle.
	ExitIdle()
}

// ClientConnState is what a balancer is told of its channel.
type ClientConnState struct {
	// ResolverState is what the resolver found.
	ResolverState resolver.State
	// BalancerConfig is what ParseConfig returned; nil without a configuration.
	BalancerConfig serviceconfig.LoadBalancingConfig
}

// State is what a balancer tells its channel.
type State struct {
	// ConnectivityState is the channel's state from now on. Only a change of it, or
	// of the Picker, is worth an update.
	ConnectivityState connectivity.State
	// Picker chooses for the RPCs from now on.
	Picker Picker
}

// ClientConn is the channel as its balancer sees it. The channel implements it; a
// wrapper embeds the one it was given.
type ClientConn interface {
	// NewSubConn makes a SubConn for the addresses, of which there must be one at
	// least. It is idle: Connect starts it.
	//
	// Deprecated: only as far as the list goes; give one address a SubConn.
	NewSubConn([]resolver.Address, NewSubConnOptions) (SubConn, error)
	// RemoveSubConn shuts a SubConn down.
	//
	// Deprecated: use SubConn.Shutdown.
	RemoveSubConn(SubConn)
	// UpdateAddresses replaces the addresses of a SubConn.
	//
	// Deprecated: make a new SubConn and shut the old one down.
	UpdateAddresses(SubConn, []resolver.Address)
	// UpdateState gives the channel a new state and Picker. It may be called by any goroutine, also
	// with a lock of the balancer's held, by a StateListener and by a PickResult's Done. After Close it
	// does nothing.
	UpdateState(State)
	// ResolveNow asks the resolver to look again.
	ResolveNow(resolver.ResolveNowOptions)
	// Target returns the target as the user gave it.
	//
	// Deprecated: use BuildOptions.Target.
	Target() string
	// MetricsRecorder returns where the balancer records its metrics. Not nil.
	MetricsRecorder() stats.MetricsRecorder

	internal.EnforceClientConnEmbedding
}
