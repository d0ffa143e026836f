// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"google.golang.org/grpc/experimental/balancer/hostname"
	"google.golang.org/grpc/experimental/balancer/weight"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/xds/balancer/locality"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/ringhash"
)

// resolved has endpoints in the form that policies need. It does not change.
type resolved struct {
	all     []resolver.Endpoint
	byChild map[string][]resolver.Endpoint // slices of all, by the name of the priority policy's child
}

// wants is what a cluster wants to have in its endpoints.
type wants struct {
	sessions bool // what only sessions use (A55)
	proxies  bool // the proxies by way of which connections are made (A86)
}

func wantsOf(c *resource.Cluster) wants {
	return wants{sessions: c.OverrideHealth != nil, proxies: c.HTTPConnect}
}

// endpoints returns all endpoints, and those of each priority, with locality and weight (A113).
// Endpoints share attributes that are equal. Draining endpoints are included only if there are
// sessions, which may still use them.
func endpoints(priorities [][]resource.Locality, names []string, w wants) *resolved {
	n := 0
	for _, localities := range priorities {
		for i := range localities {
			n += len(localities[i].Endpoints)
		}
	}
	out := make([]resolver.Endpoint, 0, n)
	addresses := make([]resolver.Address, 0, n)
	byChild := make(map[string][]resolver.Endpoint, len(names))
	for p, localities := range priorities {
		first, path, sum := len(out), []string{names[p]}, resource.PriorityWeight(localities)
		for i := range localities {
			l := &localities[i]
			common := resolver.Endpoint{}
			if w.sessions { // override_host removes some endpoints, and priority gets the rest
				common = hierarchy.Set(common, path)
			}
			common = locality.Set(common, locality.Info{ID: l.ID, Weight: l.Weight})
			weights := l.EndpointWeights(sum)
			where := locality.WithPlace(resolver.Address{}, locality.Place{ID: l.ID})
			last := weight.Set(common, weight.EndpointInfo{})
			for j := range l.Endpoints {
				from := &l.Endpoints[j]
				if from.Health == resource.Draining && !w.sessions {
					continue
				}
				if weight.FromEndpoint(last).Weight != weights[j] {
					last = weight.Set(common, weight.EndpointInfo{Weight: weights[j]})
				}
				e := last
				if w.sessions && from.Health != resource.Unknown {
					e = locality.SetHealth(e, from.Health)
				}
				if from.Hostname != "" {
					e = hostname.Set(e, from.Hostname)
				}
				if from.HashKey != "" {
					e = ringhash.SetHashKey(e, from.HashKey)
				}
				place := locality.Place{ID: l.ID, Hostname: from.Hostname}
				if w.proxies {
					place.Proxy = from.Proxy
				}
				at := where
				if place.Hostname != "" || place.Proxy != "" {
					at = locality.WithPlace(resolver.Address{}, place)
				}
				begin := len(addresses)
				at.Addr = from.Address
				addresses = append(addresses, at)
				for _, more := range from.MoreAddresses {
					at.Addr = more
					addresses = append(addresses, at)
				}
				e.Addresses = addresses[begin:len(addresses):len(addresses)]
				out = append(out, e)
			}
		}
		byChild[names[p]] = out[first:len(out):len(out)]
	}
	return &resolved{out, byChild}
}
