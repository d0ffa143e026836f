// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/status"
)

// settings are what RPCs go by, from one change of the cluster to the next. Only places changes.
type settings struct {
	resource *resource.Cluster
	drops    []resource.Drop
	all      bool // one of drops drops all
	requests *requests
	load     *client.ClusterLoad // nil: nobody is told
	broke    error               // of RPCs that are more than the cluster may have at a time
	labels   map[string]string

	places sync.Map // of *place, by LocalityID
}

// newSettings returns before if nothing is new.
func newSettings(c *dependency.Cluster, n *requests, load *client.ClusterLoad, before *settings) *settings {
	var drops []resource.Drop
	if c.Endpoints != nil {
		drops = c.Endpoints.Drops
	}
	if before != nil && before.resource == c.Resource && before.load == load && before.requests == n && slices.Equal(before.drops, drops) {
		return before
	}
	if len(drops) > 0 { // which change with the endpoints
		return makeSettings(c.Resource, drops, n, load)
	}
	return resource.Derive(&c.Resource.Derived, settingsKey{n, load}, func() *settings {
		return makeSettings(c.Resource, nil, n, load)
	})
}

// settingsKey is for what all channels have in common: counters are the process's.
type settingsKey struct {
	requests *requests
	load     *client.ClusterLoad
}

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

// place is what all endpoints of a locality have in common. It does not change.
type place struct {
	of     *settings
	load   *client.LocalityLoad // nil: nobody is told
	labels map[string]string
	done   func(balancer.DoneInfo)
}

// place returns that of a locality.
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

// finished is told the end of an RPC.
func (p *place) finished(info balancer.DoneInfo) {
	p.of.requests.Add(-1)
	if p.load != nil {
		p.load.Finished(info.Err != nil)
		reportMetrics(p.load, &p.of.resource.LoadMetrics, info.ServerLoad)
	}
}

func mayPass(d resource.Drop) bool { return !d.Share.Match(uint32(match.All) - 1) }
