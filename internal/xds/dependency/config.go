// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"maps"

	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// Config is all that a channel goes by at one time. It never changes.
type Config struct {
	Listener *resource.Listener
	Routes   *resource.RouteConfig
	// Host is the one of Routes that is for the channel.
	Host *resource.VirtualHost
	// Clusters are those that routes of Host name, those that somebody has subscribed to, and
	// the leaves of those that are aggregates.
	Clusters map[string]*Cluster
}

// same reports whether there is nothing new in o.
func (c *Config) same(o *Config) bool {
	return c != nil && o != nil && c.Listener == o.Listener && c.Routes == o.Routes && c.Host == o.Host &&
		maps.Equal(c.Clusters, o.Clusters)
}

// Cluster is a cluster with where its servers are. It never changes: one with news is another.
type Cluster struct {
	// Err says why the cluster can't be used; the rest is empty then.
	Err error
	// Resource is the cluster itself.
	Resource *resource.Cluster
	// Endpoints are those of a cluster that is no aggregate; nil if there are none, and then
	// Note says why.
	Endpoints *resource.Endpoints
	// Note is why there are no Endpoints.
	Note error
	// Leaves are the clusters of which an aggregate consists in the end, the best first, each
	// once. They are in Config.Clusters.
	Leaves []string
}

// Subscriber is what a Manager is to the policies of its channel.
type Subscriber interface {
	// Subscribe has Configs to come hold a cluster that routes need not name, until release is
	// called, which may be done more than once.
	Subscribe(cluster string) (release func())
}

// Attachment is what policies find in the state of a resolver.
type Attachment struct {
	Config *Config
	// Client is for load reports.
	Client *xdsclient.Client
	// Subscriber is for clusters that an RPC chooses.
	Subscriber Subscriber
}

type attachmentKey struct{}

// Attach returns the state with what the policies of xDS need.
func Attach(s resolver.State, a *Attachment) resolver.State {
	s.Attributes = s.Attributes.WithValue(attachmentKey{}, a)
	return s
}

// Of returns what Attach has put into the state, nil if it has not.
func Of(s resolver.State) *Attachment {
	a, _ := s.Attributes.Value(attachmentKey{}).(*Attachment)
	return a
}
