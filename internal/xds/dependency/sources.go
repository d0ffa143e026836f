// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// clusterWatch is the watch of a cluster, and the last Cluster that was made from it.
type clusterWatch struct {
	*watch[*resource.Cluster]
	made *Cluster
}

// sources is what a Config is assembled from: the watches, and the subscriptions. The agenda's
// mutex guards it.
type sources struct {
	agenda
	client  *xdsclient.Client // immutable, as is options
	options Options

	round      uint64 // counts updates
	listener   *watch[*resource.Listener]
	routes     *watch[*resource.RouteConfig] // nil if the listener contains its routes, or is not known
	clusters   map[string]*clusterWatch
	endpoints  map[string]*watch[*resource.Endpoints]
	names      map[string]*nameWatch
	subscribed map[string]int
}

// need says when a watch was needed.
type need struct {
	round uint64 // the last round that needed it
	told  bool   // so did the last complete round
}

// staysLocked reports whether a watch goes on after a round. Until another round is complete, the
// channel goes by the last one that was.
func (n *need) staysLocked(round uint64, complete bool) bool {
	needed := n.round == round
	if complete {
		n.told = needed
	}
	return needed || n.told
}

// dropLocked ends the watches that are not needed after a round. The caller must close the
// resolvers that it returns.
func (m *sources) dropLocked(complete bool) (left []resolver.Resolver) {
	if m.routes != nil && !m.routes.staysLocked(m.round, complete) {
		m.routes.stopLocked()
		m.routes = nil
	}
	for name, w := range m.clusters {
		if !w.staysLocked(m.round, complete) {
			w.stopLocked()
			delete(m.clusters, name)
		}
	}
	for name, w := range m.endpoints {
		if !w.staysLocked(m.round, complete) {
			w.stopLocked()
			delete(m.endpoints, name)
		}
	}
	for name, n := range m.names {
		if !n.staysLocked(m.round, complete) {
			if r := n.stopLocked(); r != nil {
				left = append(left, r)
			}
			delete(m.names, name)
		}
	}
	return left
}
