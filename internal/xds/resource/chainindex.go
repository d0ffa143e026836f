// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/netip"
	"slices"
)

// FilterChain is what becomes of some connections.
type FilterChain struct {
	Name string
	HTTP *HTTP
	// TLS is nil if there is no security: the fallback credentials count (A29).
	TLS *ServerTLS
}

// sourceType is a kind of client.
type sourceType uint8

const (
	anySource sourceType = iota
	localSource
	externalSource
)

// chainRule is one combination of the values of a FilterChainMatch (A36). An invalid prefix is
// one that is not there.
type chainRule struct {
	chain       *FilterChain
	destination netip.Prefix
	source      netip.Prefix
	sourceType  sourceType
	sourcePort  uint16
	transport   bool // transport_protocol is "raw_buffer"
}

// chainIndex has the combinations of a listener, in the order in which a connection is matched: a
// level for each stage, so that a match costs a bounded number of look-ups, however many there are.
// The zero value has none. It does not change once the listener is read.
type chainIndex struct {
	byDestination prefixTable[transportIndex]
}

// transportIndex has those that want transport protocol raw_buffer, and those that want none.
type transportIndex struct {
	raw, any *sourceTypeIndex
}

// sourceTypeIndex has the sources by the type of source.
type sourceTypeIndex [externalSource + 1]*prefixTable[portIndex]

// portIndex has the chains by the client's port; 0 stands for any.
type portIndex struct {
	chains map[uint16]*FilterChain
}

// add adds a combination. The first of the same ones stays.
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

// connection is what combinations look at.
type connection struct {
	client, server netip.Addr
	port           uint16
}

// find returns nil if no combination is for the connection. In each stage the most specific that
// there is counts, and nobody turns back from it.
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
	if c.client == c.server || c.client.IsLoopback() {
		return localSource
	}
	return externalSource
}

// prefixTable finds the longest prefix of an address, or else what has none.
type prefixTable[T any] struct {
	none     *T
	byPrefix map[netip.Prefix]*T
	v4, v6   []int // the lengths that there are, the longest first
}

// at returns what is at a prefix, or at none if it is not valid, and makes it if need be.
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

// find returns nil if there is nothing for the address.
func (t *prefixTable[T]) find(a netip.Addr) *T {
	lengths := t.v6
	if a.Is4() {
		lengths = t.v4
	}
	for _, bits := range lengths {
		// One of no address is not valid, and not in the table.
		if p, _ := a.Prefix(bits); t.byPrefix[p] != nil {
			return t.byPrefix[p]
		}
	}
	return t.none
}
