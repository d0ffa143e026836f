// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"math"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc/internal/xds/match"
)

// Endpoints is a ClusterLoadAssignment: the servers of a cluster.
type Endpoints struct {
	// Name is the name of the resource.
	Name string
	// Drops are the shares of requests to drop. They apply one after the other.
	Drops []Drop
	// Localities are the localities that have a weight. They are sorted by priority; within a
	// priority they have the order of the resource. Priorities begin at 0 and have no gaps.
	Localities []Locality

	Derived Derived
}

// Drop is a share of requests to drop, and its name in load reports.
type Drop struct {
	Category string
	Share    match.Fraction
}

// Locality is a group of endpoints in one place and of one priority.
type Locality struct {
	ID       LocalityID
	Priority uint32
	// Weight is relative to the other localities of the priority. It is not 0, and the sum fits
	// in 32 bits.
	Weight    uint32
	Endpoints []Endpoint
}

// LocalityID identifies a locality.
type LocalityID struct {
	Region, Zone, SubZone string
}

// String returns the locality in the form that metrics use (A78).
func (id LocalityID) String() string {
	return fmt.Sprintf("{region=%q, zone=%q, sub_zone=%q}", id.Region, id.Zone, id.SubZone)
}

// Health is the health state of an endpoint as the control plane reports it.
type Health uint8

// Endpoints with any other health state are left out.
const (
	Unknown Health = iota
	Healthy
	Draining
)

// Endpoint is one server.
type Endpoint struct {
	// Address is the first address, with the port.
	Address string
	// MoreAddresses are the other addresses (A61).
	MoreAddresses []string
	// Hostname is used for the authority of RPCs (A81) and for SNI (A101).
	Hostname string
	// HashKey determines where ring_hash places the endpoint (A76). If it is "", the first
	// address does.
	HashKey string
	// Proxy is the address of the HTTP CONNECT proxy (A86). It is used only if
	// Cluster.HTTPConnect is set.
	Proxy string
	// Weight is relative to the other endpoints of the locality. It is 1 if the resource has
	// none; the sum fits in 32 bits.
	Weight uint32
	Health Health
}

// ParseEndpoints parses a serialized ClusterLoadAssignment.
func ParseEndpoints(c *Context, raw []byte) (*Endpoints, error) {
	return parse(c, raw, &endpointv3.ClusterLoadAssignment{}, readEndpoints)
}

func readEndpoints(c *Context, in *endpointv3.ClusterLoadAssignment) (*Endpoints, error) {
	out := &Endpoints{Name: in.GetClusterName()}
	for i, d := range in.GetPolicy().GetDropOverloads() {
		share, err := match.ParseFraction(d.GetDropPercentage())
		if err != nil {
			return nil, at("policy", atIndex("drop_overloads", i, at("drop_percentage", err)))
		}
		out.Drops = append(out.Drops, Drop{Category: d.GetCategory(), Share: share})
	}
	p := endpointsParser{c: c, out: out}
	for i, l := range in.GetEndpoints() {
		if err := p.locality(l); err != nil {
			return nil, atIndex("endpoints", i, err)
		}
	}
	return out, at("endpoints", p.finish())
}

// endpointsParser remembers what must not occur twice.
type endpointsParser struct {
	c          *Context
	out        *Endpoints
	localities map[localityKey]bool
	addresses  map[string]bool
}

type localityKey struct {
	id       LocalityID
	priority uint32
}

func (p *endpointsParser) locality(in *endpointv3.LocalityLbEndpoints) error {
	if in.GetLoadBalancingWeight().GetValue() == 0 {
		return nil // A27: skipped
	}
	if in.GetLocality() == nil {
		return at("locality", errors.New("missing"))
	}
	l := Locality{
		ID:       LocalityID{in.GetLocality().GetRegion(), in.GetLocality().GetZone(), in.GetLocality().GetSubZone()},
		Priority: in.GetPriority(),
		Weight:   in.GetLoadBalancingWeight().GetValue(),
	}
	key := localityKey{l.ID, l.Priority}
	if p.localities[key] {
		return wrong("locality", "%v is twice in priority %d", l.ID, l.Priority)
	}
	if p.localities == nil {
		p.localities, p.addresses = make(map[localityKey]bool), make(map[string]bool)
	}
	p.localities[key] = true
	md, err := p.proxies(in.GetMetadata())
	if err != nil {
		return at("metadata", err)
	}
	if l.Endpoints, err = p.endpoints(in.GetLbEndpoints(), md.proxy()); err != nil {
		return err
	}
	p.out.Localities = append(p.out.Localities, l)
	return nil
}

// proxies parses metadata, but only if proxies are enabled, which are in it (A86).
func (p *endpointsParser) proxies(in *corev3.Metadata) (Metadata, error) {
	if !p.c.Features.HTTPConnect {
		return nil, nil
	}
	return parseMetadata(p.c, in)
}

func (p *endpointsParser) endpoints(list []*endpointv3.LbEndpoint, proxy string) ([]Endpoint, error) {
	out := make([]Endpoint, 0, len(list))
	sum := uint64(0)
	for i, in := range list {
		e, used, err := p.endpoint(in)
		if err != nil {
			return nil, atIndex("lb_endpoints", i, err)
		}
		if !used {
			continue
		}
		if e.Proxy == "" {
			e.Proxy = proxy
		}
		sum += uint64(e.Weight)
		out = append(out, e)
	}
	if sum > math.MaxUint32 {
		return nil, wrong("lb_endpoints", "the sum of weights is %d, above 2^32-1", sum)
	}
	return out, nil
}

// endpoint parses an endpoint. used is false if the endpoint's health does not permit its use.
func (p *endpointsParser) endpoint(in *endpointv3.LbEndpoint) (e Endpoint, used bool, err error) {
	switch in.GetHealthStatus() {
	case corev3.HealthStatus_UNKNOWN:
		e.Health = Unknown
	case corev3.HealthStatus_HEALTHY:
		e.Health = Healthy
	case corev3.HealthStatus_DRAINING:
		e.Health = Draining
	default:
		return e, false, nil
	}
	e.Weight = 1
	if w := in.GetLoadBalancingWeight(); w != nil {
		if e.Weight = w.GetValue(); e.Weight == 0 {
			return e, false, wrong("load_balancing_weight", "is 0")
		}
	}
	if in.GetEndpoint() == nil {
		return e, false, wrong("endpoint", "missing")
	}
	if err := p.addressesOf(&e, in.GetEndpoint()); err != nil {
		return e, false, at("endpoint", err)
	}
	e.Hostname = in.GetEndpoint().GetHostname()
	if p.c.Features.EndpointHashKey {
		e.HashKey = in.GetMetadata().GetFilterMetadata()["envoy.lb"].GetFields()["hash_key"].GetStringValue()
	}
	md, err := p.proxies(in.GetMetadata())
	if err != nil {
		return e, false, at("metadata", err)
	}
	e.Proxy = md.proxy()
	return e, true, nil
}

func (p *endpointsParser) addressesOf(e *Endpoint, in *endpointv3.Endpoint) (err error) {
	if e.Address, err = p.address(in.GetAddress()); err != nil {
		return at("address", err)
	}
	if !p.c.Features.Dualstack {
		return nil
	}
	for i, more := range in.GetAdditionalAddresses() {
		a, err := p.address(more.GetAddress())
		if err != nil {
			return atIndex("additional_addresses", i, at("address", err))
		}
		e.MoreAddresses = append(e.MoreAddresses, a)
	}
	return nil
}

func (p *endpointsParser) address(in *corev3.Address) (string, error) {
	a, err := socketAddress(in)
	if err != nil {
		return "", err
	}
	if p.addresses[a] {
		return "", fmt.Errorf("%s is there twice", a)
	}
	p.addresses[a] = true
	return a, nil
}

// finish sorts the localities and makes the checks that need all of them.
func (p *endpointsParser) finish() error {
	list := p.out.Localities
	slices.SortStableFunc(list, func(a, b Locality) int { return int(int64(a.Priority) - int64(b.Priority)) })
	next, sum := uint32(0), uint64(0)
	for i := range list {
		switch l := &list[i]; {
		case i > 0 && l.Priority == list[i-1].Priority:
			sum += uint64(l.Weight)
		case l.Priority != next:
			return fmt.Errorf("there is priority %d, but not %d", l.Priority, next)
		default:
			next, sum = next+1, uint64(l.Weight)
		}
		if sum > math.MaxUint32 {
			return fmt.Errorf("the sum of locality weights in priority %d is above 2^32-1", list[i].Priority)
		}
	}
	return nil
}

// Priorities returns the localities grouped by priority.
func (e *Endpoints) Priorities() [][]Locality {
	var out [][]Locality
	for i := 0; i < len(e.Localities); {
		j := i + 1
		for j < len(e.Localities) && e.Localities[j].Priority == e.Localities[i].Priority {
			j++
		}
		out = append(out, e.Localities[i:j])
		i = j
	}
	return out
}
