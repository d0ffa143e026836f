// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/status"
)

// settings are the cluster's settings that picks use. A change of the cluster makes new ones.
// Only the field places changes.
type settings struct {
	resource *resource.Cluster
	drops    []resource.Drop
	all      bool // one of drops drops every RPC
	requests *requests
	load     *client.ClusterLoad // nil if there are no load reports
	broke    error               // the error of RPCs that exceed the limit of concurrent RPCs
	labels   map[string]string

	places sync.Map // of *place, by LocalityID
}

// newSettings returns the settings of a cluster. It returns before if nothing has changed but the endpoints.
func newSettings(c *dependency.Cluster, n *requests, load *client.ClusterLoad, before *settings) *settings {
	s := findSettings(c, n, load, before)
	s.tidy(c.Endpoints)
	return s
}

func findSettings(c *dependency.Cluster, n *requests, load *client.ClusterLoad, before *settings) *settings {
	var drops []resource.Drop
	if c.Endpoints != nil {
		drops = c.Endpoints.Drops
	}
	if before != nil && before.resource == c.Resource && before.load == load && before.requests == n && slices.Equal(before.drops, drops) {
		return before
	}
	if len(drops) > 0 { // drops change with the endpoints, so these settings are not cached
		return makeSettings(c.Resource, drops, n, load)
	}
	shared := resource.Derive(&c.Resource.Derived, settingsKey{}, func() *atomic.Pointer[settings] { return new(atomic.Pointer[settings]) })
	for {
		last := shared.Load()
		if last != nil && last.requests == n && last.load == load {
			return last
		}
		if made := makeSettings(c.Resource, nil, n, load); shared.CompareAndSwap(last, made) {
			return made
		}
	}
}

// settingsKey is for the settings that all channels share. They are the last ones: the counters are those of the
// process, and others are made when the cluster is used again after no policy and no RPC has used it.
type settingsKey struct{}

func makeSettings(c *resource.Cluster, drops []resource.Drop, n *requests, load *client.ClusterLoad) *settings {
	s := &settings{resource: c, drops: drops, load: load, requests: n}
	for _, d := range drops {
		s.all = s.all || !mayPass(d)
	}
	s.broke = status.Errorf(codes.Unavailable, "max requests %d exceeded on service %s", c.MaxRequests, c.EDSName())
	s.labels = c.TelemetryLabels()
	s.labels["grpc.lb.backend_service"] = n.key.cluster
	return s
}

// place has what the endpoints of a locality have in common. It does not change.
type place struct {
	of     *settings
	load   *client.LocalityLoad // nil if there are no load reports
	labels map[string]string
	done   func(balancer.DoneInfo)
}

// place returns the place of a locality.
func (s *settings) place(id resource.LocalityID) *place {
	if p, ok := s.places.Load(id); ok {
		return p.(*place)
	}
	p := &place{of: s, labels: make(map[string]string, len(s.labels)+1)}
	for k, v := range s.labels {
		p.labels[k] = v
	}
	p.labels["grpc.lb.locality"] = id.String()
	if s.load != nil {
		p.load = s.load.Locality(client.LocalityKey{
			Region: id.Region, Zone: id.Zone, SubZone: id.SubZone, Metrics: s.resource.LoadMetrics.Key(),
		})
	}
	p.done = p.finished
	actual, _ := s.places.LoadOrStore(id, p)
	return actual.(*place)
}

// tidy removes the places of localities that the cluster does not have any more. Connections that are still in use
// there keep theirs.
func (s *settings) tidy(e *resource.Endpoints) {
	known := make(map[resource.LocalityID]bool)
	if e != nil {
		for i := range e.Localities {
			known[e.Localities[i].ID] = true
		}
	}
	s.places.Range(func(id, _ any) bool {
		if !known[id.(resource.LocalityID)] {
			s.places.Delete(id)
		}
		return true
	})
}

// finished counts the end of an RPC.
func (p *place) finished(info balancer.DoneInfo) {
	p.of.requests.ended()
	switch {
	case p.load == nil:
	case done.WasUnused(info):
		p.load.Withdrawn()
	default:
		reportMetrics(p.load, &p.of.resource.LoadMetrics, info.ServerLoad)
		p.load.Finished(info.Err != nil)
	}
}

func mayPass(d resource.Drop) bool { return !d.Share.Match(uint32(match.All) - 1) }
