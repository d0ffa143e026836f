// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"maps"

	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// Config is everything that a channel needs from xDS at one time. It is immutable. One that is made
// for an error has Clusters alone.
type Config struct {
	Listener *resource.Listener
	Routes   *resource.RouteConfig
	// Host is the virtual host in Routes for the channel.
	Host *resource.VirtualHost
	// Clusters has the clusters that routes of Host name, those that are subscribed to, and
	// the leaves of aggregates among them.
	Clusters map[string]*Cluster
}

// same reports whether o has nothing new.
func (c *Config) same(o *Config) bool {
	return c != nil && o != nil && c.Listener == o.Listener && c.Routes == o.Routes && c.Host == o.Host &&
		maps.Equal(c.Clusters, o.Clusters)
}

// Cluster is a cluster with its endpoints. It is immutable: a change makes a new Cluster.
type Cluster struct {
	// Err says why the cluster can't be used. The other fields are empty then.
	Err error
	// Resource is the cluster's resource.
	Resource *resource.Cluster
	// Endpoints are the endpoints of a cluster that is not an aggregate. If they are nil, Note
	// says why.
	Endpoints *resource.Endpoints
	// Note says why there are no Endpoints.
	Note error
	// Leaves are the clusters that an aggregate consists of after all nesting is resolved, in
	// order of preference and without duplicates. They are in Config.Clusters.
	Leaves []string
}

// Subscriber is a Manager as the policies of its channel see it.
type Subscriber interface {
	// Subscribe makes future Configs include a cluster even if no route names it, until
	// release is called. release may be called more than once.
	Subscribe(cluster string) (release func())
}

// Attachment is what policies find in the resolver's state.
type Attachment struct {
	Config *Config
	// Client is for load reports.
	Client *xdsclient.Client
	// Subscriber is for clusters that are chosen for each RPC.
	Subscriber Subscriber
}

type attachmentKey struct{}

// Attach returns the state with an Attachment, which the policies of xDS need.
func Attach(s resolver.State, a *Attachment) resolver.State {
	s.Attributes = s.Attributes.WithValue(attachmentKey{}, a)
	return s
}

// Of returns the Attachment of a state, or nil if it has none.
func Of(s resolver.State) *Attachment {
	a, _ := s.Attributes.Value(attachmentKey{}).(*Attachment)
	return a
}
