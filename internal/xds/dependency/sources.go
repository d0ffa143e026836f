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

// dropLocked ends the watches that were not needed in the round. The caller must close the
// resolvers that it returns.
func (m *sources) dropLocked(round uint64) (left []resolver.Resolver) {
	if m.routes != nil && m.routes.round != round {
		m.routes.stopLocked()
		m.routes = nil
	}
	for name, w := range m.clusters {
		if w.round != round {
			w.stopLocked()
			delete(m.clusters, name)
		}
	}
	for name, w := range m.endpoints {
		if w.round != round {
			w.stopLocked()
			delete(m.endpoints, name)
		}
	}
	for name, n := range m.names {
		if n.round != round {
			if r := n.stopLocked(); r != nil {
				left = append(left, r)
			}
			delete(m.names, name)
		}
	}
	return left
}
