// SPDX-License-Identifier: Apache-2.0

// Package balancer has the interfaces of the policies by which channels spread RPCs over servers
// (load-balancing.md). A program registers a Builder under a name. The Builder's Balancer makes
// SubConns for the addresses that the resolver found, and gives the channel Pickers that choose a
// SubConn for each RPC.
//
// All of this package may change or be removed in a later release.
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
	// Name returns the name by which a service config chooses the balancer. It should be in lower
	// case.
	Name() string
}

// ConfigParser is a Builder whose balancers take a configuration.
type ConfigParser interface {
	// ParseConfig parses the JSON of the balancer's configuration. UpdateClientConnState gets the
	// result. An error makes the whole service config invalid.
	ParseConfig(LoadBalancingConfigJSON json.RawMessage) (serviceconfig.LoadBalancingConfig, error)
}

// BuildOptions is what a channel tells its balancer's Builder about itself.
type BuildOptions struct {
	// DialCreds are the channel's transport credentials, for a balancer that makes
	// connections of its own. Nil if the channel has a bundle.
	DialCreds credentials.TransportCredentials
	// CredsBundle is the channel's credentials bundle. May be nil.
	CredsBundle credentials.Bundle
	// Dialer is the channel's own dialer. Nil means the default one.
	Dialer func(context.Context, string) (net.Conn, error)
	// Authority is the channel's :authority.
	Authority string
	// ChannelzParent identifies the channel in channelz.
	ChannelzParent channelz.Identifier
	// CustomUserAgent is the channel's whole user agent: the program's text, if any, and "grpc-go/" with
	// the version.
	CustomUserAgent string
	// Target is the channel's target.
	Target resolver.Target
}

// Balancer follows the resolver's updates and the states of its SubConns, and gives the channel a
// new Picker when something changes. The channel calls the Balancer's methods and the listeners of
// its SubConns one at a time.
type Balancer interface {
	// UpdateClientConnState gets what the resolver found, and the balancer's configuration. If it
	// returns ErrBadResolverState, the channel asks the resolver to try again.
	UpdateClientConnState(ClientConnState) error
	// ResolverError gets the resolver's error when the resolver failed.
	ResolverError(error)
	// UpdateSubConnState gets each state of a SubConn that was made without a StateListener.
	//
	// Deprecated: use NewSubConnOptions.StateListener.
	UpdateSubConnState(SubConn, SubConnState)
	// Close ends the balancer. It is the last call. The balancer need not shut down its SubConns,
	// as the channel does so in any case.
	Close()
	// ExitIdle makes the balancer connect if it is idle.
	ExitIdle()
}

// ExitIdler is a balancer that can leave idleness.
//
// Deprecated: every Balancer has the method.
type ExitIdler interface {
	// ExitIdle makes the balancer connect if it is idle.
	ExitIdle()
}

// ClientConnState is what a channel tells its balancer in an update.
type ClientConnState struct {
	// ResolverState is what the resolver found.
	ResolverState resolver.State
	// BalancerConfig is what ParseConfig returned. It is nil without a configuration.
	BalancerConfig serviceconfig.LoadBalancingConfig
}

// State is what a balancer tells its channel in an update.
type State struct {
	// ConnectivityState is the channel's state from now on. An update without a change of it or of
	// the Picker has no use.
	ConnectivityState connectivity.State
	// Picker chooses the SubConns of RPCs from now on.
	Picker Picker
}

// ClientConn is the channel as its balancer sees it. The channel implements it. A type that wraps a
// ClientConn must embed it.
type ClientConn interface {
	// NewSubConn makes a SubConn for one or more addresses. The SubConn is idle until Connect is
	// called.
	//
	// Deprecated: only the list is deprecated; make a SubConn for each address.
	NewSubConn([]resolver.Address, NewSubConnOptions) (SubConn, error)
	// RemoveSubConn shuts a SubConn down.
	//
	// Deprecated: use SubConn.Shutdown.
	RemoveSubConn(SubConn)
	// UpdateAddresses replaces the addresses of a SubConn.
	//
	// Deprecated: make a new SubConn and shut the old one down.
	UpdateAddresses(SubConn, []resolver.Address)
	// UpdateState gives the channel a new state and Picker. Any goroutine may call it, even while it
	// holds a lock of the balancer, and so may a StateListener and a PickResult's Done. After the
	// balancer's Close, UpdateState does nothing.
	UpdateState(State)
	// ResolveNow asks the resolver to resolve again.
	ResolveNow(resolver.ResolveNowOptions)
	// Target returns the target as the user gave it.
	//
	// Deprecated: use BuildOptions.Target.
	Target() string
	// MetricsRecorder returns the recorder for the balancer's metrics. It is not nil.
	MetricsRecorder() stats.MetricsRecorder

	internal.EnforceClientConnEmbedding
}
