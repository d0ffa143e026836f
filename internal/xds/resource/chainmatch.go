// SPDX-License-Identifier: Apache-2.0

package resource

import "net/netip"

// Match returns the chain for a connection between a client and a server's address, Default,
// which may be nil, if none is for it. Nil means that the connection has to be closed before
// anything is sent (A36).
//
// Of all combinations, those with the longest prefix of the server's address stay; of these
// those with a transport protocol; of these those with a type of source, those with the longest
// prefix of the client's address, and those with its port, in this order. What is not specified
// matches last, and nobody turns back.
func (l *ServerListener) Match(client, server netip.AddrPort) *FilterChain {
	c := connection{
		client: client.Addr().Unmap().WithZone(""), server: server.Addr().Unmap().WithZone(""), port: client.Port(),
	}
	var best [stages]int
	for s := range stages {
		best[s] = none
		for i := range l.rules {
			if l.rules[i].among(&c, &best, s) {
				best[s] = max(best[s], l.rules[i].rank(&c, s))
			}
		}
		if best[s] == none {
			return l.Default
		}
	}
	for i := range l.rules {
		if l.rules[i].among(&c, &best, stages) {
			return l.rules[i].chain
		}
	}
	return l.Default
}

// connection is what rules look at.
type connection struct {
	client, server netip.Addr
	port           uint16
}

// stages of the choice, in their order.
const (
	byDestination = iota
	byTransport
	bySourceType
	bySource
	bySourcePort
	stages
)

// none is the rank of a rule that is not for the connection.
const none = -1

// among reports whether the rule is one of the best in each stage before the given one.
func (r *chainRule) among(c *connection, best *[stages]int, before int) bool {
	for s := range before {
		if r.rank(c, s) != best[s] {
			return false
		}
	}
	return true
}

// rank says how specific the rule is in a stage.
func (r *chainRule) rank(c *connection, stage int) int {
	switch stage {
	case byDestination:
		return rankPrefix(r.destination, c.server)
	case byTransport:
		return rankBool(r.transport)
	case bySourceType:
		return r.rankType(c)
	case bySource:
		return rankPrefix(r.source, c.client)
	default:
		switch r.sourcePort {
		case 0:
			return 0
		case c.port:
			return 1
		default:
			return none
		}
	}
}

func rankBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *chainRule) rankType(c *connection) int {
	local := c.client == c.server || c.client.IsLoopback()
	switch {
	case r.sourceType == anySource:
		return 0
	case local == (r.sourceType == localSource):
		return 1
	default:
		return none
	}
}

// rankPrefix ranks a prefix of no bits above one that is not there.
func rankPrefix(p netip.Prefix, a netip.Addr) int {
	switch {
	case !p.IsValid():
		return 0
	case p.Contains(a):
		return p.Bits() + 1
	default:
		return none
	}
}
