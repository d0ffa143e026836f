// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// clusterWatch also keeps what was made of it, for as long as nothing is new in it.
type clusterWatch struct {
	*watch[*resource.Cluster]
	made *Cluster
}

// sources are what a Config is made of: the watches under way, and what others ask for. The
// agenda's mutex guards them.
type sources struct {
	agenda
	client  *xdsclient.Client // immutable, as are the options
	options Options

	round      uint64 // counts updates
	listener   *watch[*resource.Listener]
	routes     *watch[*resource.RouteConfig] // nil: the listener has its own, or is not there
	clusters   map[string]*clusterWatch
	endpoints  map[string]*watch[*resource.Endpoints]
	names      map[string]*nameWatch
	subscribed map[string]int
}

// dropLocked ends the watches that were not needed in the round, and returns resolvers to close.
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
