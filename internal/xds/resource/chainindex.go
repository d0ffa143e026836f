// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/netip"
	"slices"
)

// FilterChain says what a server does with the connections that match it.
type FilterChain struct {
	Name string
	HTTP *HTTP
	// TLS is nil if the chain configures no security; the fallback credentials are used then (A29).
	TLS *ServerTLS
}

// sourceType says where a client connects from.
type sourceType uint8

const (
	anySource sourceType = iota
	localSource
	externalSource
)

// chainRule is one combination of the values of a FilterChainMatch (A36). An invalid prefix stands
// for a field that is not set.
type chainRule struct {
	chain       *FilterChain
	destination netip.Prefix
	source      netip.Prefix
	sourceType  sourceType
	sourcePort  uint16
	transport   bool // transport_protocol is "raw_buffer"
}

// chainIndex has the rules of a listener. It has one level for each stage in which a connection is
// matched, so that a match takes a bounded number of look-ups, however many rules there are. The
// zero value has no rules. It does not change once the listener has been parsed.
type chainIndex struct {
	byDestination prefixTable[transportIndex]
}

// transportIndex separates the rules for transport protocol raw_buffer from those for any protocol.
type transportIndex struct {
	raw, any *sourceTypeIndex
}

// sourceTypeIndex has the tables of source prefixes by source type.
type sourceTypeIndex [externalSource + 1]*prefixTable[portIndex]

// portIndex has the filter chains by the client's port; port 0 means any.
type portIndex struct {
	chains map[uint16]*FilterChain
}

// add adds a rule. If there is an equal rule already, that one stays.
func (x *chainIndex) add(r *chainRule) {
	transports := x.byDestination.at(r.destination)
	types := &transports.any
	if r.transport {
		types = &transports.raw
	}
	if *types == nil {
		*types = new(sourceTypeIndex)
	}
	sources := &(*types)[r.sourceType]
	if *sources == nil {
		*sources = new(prefixTable[portIndex])
	}
	ports := (*sources).at(r.source)
	if ports.chains == nil {
		ports.chains = make(map[uint16]*FilterChain, 1)
	}
	if _, ok := ports.chains[r.sourcePort]; !ok {
		ports.chains[r.sourcePort] = r.chain
	}
}

// connection has the properties of a connection that rules match on.
type connection struct {
	client, server netip.Addr
	port           uint16
}

// find returns the chain for the connection, or nil if no rule matches. In each stage it takes the
// most specific match, and never goes back to try another one.
func (x *chainIndex) find(c *connection) *FilterChain {
	transports := x.byDestination.find(c.server)
	if transports == nil {
		return nil
	}
	types := transports.raw
	if types == nil {
		types = transports.any
	}
	sources := types[c.sourceType()]
	if sources == nil {
		sources = types[anySource]
	}
	if sources == nil {
		return nil
	}
	ports := sources.find(c.client)
	if ports == nil {
		return nil
	}
	if chain, ok := ports.chains[c.port]; ok {
		return chain
	}
	return ports.chains[0]
}

func (c *connection) sourceType() sourceType {
	if c.client.IsValid() && (c.client == c.server || c.client.IsLoopback()) { // addresses may be none of IP
		return localSource
	}
	return externalSource
}

// prefixTable maps prefixes to values. It finds the longest prefix that contains an address, and
// falls back to none.
type prefixTable[T any] struct {
	none     *T
	byPrefix map[netip.Prefix]*T
	v4, v6   []int // the prefix lengths in use, the longest first
}

// at returns the value for a prefix, or none if the prefix is not valid. It makes the value if
// there is none yet.
func (t *prefixTable[T]) at(p netip.Prefix) *T {
	if !p.IsValid() {
		if t.none == nil {
			t.none = new(T)
		}
		return t.none
	}
	if v := t.byPrefix[p]; v != nil {
		return v
	}
	lengths := &t.v6
	if p.Addr().Is4() {
		lengths = &t.v4
	}
	if i, found := slices.BinarySearchFunc(*lengths, p.Bits(), func(a, b int) int { return b - a }); !found {
		*lengths = slices.Insert(*lengths, i, p.Bits())
	}
	if t.byPrefix == nil {
		t.byPrefix = make(map[netip.Prefix]*T)
	}
	v := new(T)
	t.byPrefix[p] = v
	return v
}

// find returns the value for an address, or nil.
func (t *prefixTable[T]) find(a netip.Addr) *T {
	lengths := t.v6
	if a.Is4() {
		lengths = t.v4
	}
	for _, bits := range lengths {
		// The prefix of an invalid address is not valid either, and is not in the table.
		if p, _ := a.Prefix(bits); t.byPrefix[p] != nil {
			return t.byPrefix[p]
		}
	}
	return t.none
}
