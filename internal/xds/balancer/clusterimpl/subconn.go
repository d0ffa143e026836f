// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"sync/atomic"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/backendlabel"
	"google.golang.org/grpc/internal/connectproxy"
	"google.golang.org/grpc/internal/credsmode"
	"google.golang.org/grpc/internal/scaling"
	"google.golang.org/grpc/internal/xds/balancer/locality"
	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// subConn is a SubConn that knows its locality.
type subConn struct {
	balancer.SubConn
	policy    *policy
	id        resource.LocalityID
	authority metadata.MD           // nil if the endpoint has no hostname
	seen      atomic.Pointer[place] // the last place that place returned
}

// place returns the place of the SubConn's locality in s.
func (sc *subConn) place(s *settings) *place {
	if p := sc.seen.Load(); p != nil && p.of == s {
		return p
	}
	p := s.place(sc.id)
	sc.seen.Store(p)
	return p
}

// NewSubConn implements balancer.ClientConn.
func (p *policy) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	sc := &subConn{policy: p}
	if len(addrs) > 0 {
		at := locality.PlaceOf(addrs[0])
		if sc.id = at.ID; at.Hostname != "" {
			sc.authority = metadata.MD{":authority": []string{at.Hostname}}
		}
	}
	//lint:ignore SA1019 a policy may still give several addresses
	inner, err := p.ClientConn.NewSubConn(p.prepare(addrs), opts)
	if err != nil {
		return nil, err
	}
	sc.SubConn = inner
	return sc, nil
}

// prepare returns the addresses with the attributes that making a connection needs.
func (p *policy) prepare(addrs []resolver.Address) []resolver.Address {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]resolver.Address, len(addrs))
	for i, a := range addrs {
		if last := &p.prepared; last.after == nil || last.settings != p.settings || last.before != a.Attributes {
			*last = prepared{p.settings, a.Attributes, p.attributesLocked(a)}
		}
		a.Attributes = p.prepared.after
		out[i] = a
	}
	return out
}

func (p *policy) attributesLocked(a resolver.Address) *attributes.Attributes {
	at := locality.PlaceOf(a)
	labels := backendlabel.Labels{Locality: at.ID.String()}
	if at.Proxy != "" {
		a = connectproxy.With(a, at.Proxy)
	}
	if s := p.settings; s != nil {
		labels.BackendService = s.resource.Name
		a = credsmode.SetCluster(a, s.resource.Name)
		if s.resource.MaxConnections > 0 {
			a = scaling.Attach(a, &p.scale)
		}
	}
	return handshake.SetAddress(backendlabel.With(a, labels), p.security, at.Hostname).Attributes
}

// RemoveSubConn implements balancer.ClientConn.
func (p *policy) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements balancer.ClientConn.
func (p *policy) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.UpdateAddresses(addrs)
}

// UpdateAddresses implements balancer.SubConn.
func (sc *subConn) UpdateAddresses(addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.SubConn.UpdateAddresses(sc.policy.prepare(addrs))
}
