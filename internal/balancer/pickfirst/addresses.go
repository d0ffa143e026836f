// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"net"
	"net/netip"

	"google.golang.org/grpc/resolver"
)

// order returns the addresses of the endpoints in the order in which pick_first tries them: each
// address once, and address families in turn.
func order(endpoints []resolver.Endpoint) []resolver.Address {
	if len(endpoints) == 1 && len(endpoints[0].Addresses) == 1 {
		return []resolver.Address{endpoints[0].Addresses[0]}
	}
	seen := resolver.NewAddressMapV2[bool]()
	var list []resolver.Address
	for _, e := range endpoints {
		for _, a := range e.Addresses {
			if _, twice := seen.Get(a); twice {
				continue
			}
			seen.Set(a, true)
			list = append(list, a)
		}
	}
	return interleave(list)
}

// family is an address family. Addresses of different families may be reachable in different ways.
type family uint8

const (
	other family = iota // a name, a unix socket
	ipv4
	ipv6
	families
)

func familyOf(a resolver.Address) family {
	host, _, err := net.SplitHostPort(a.Addr)
	if err != nil {
		return other
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return other
	case ip.Is4(), ip.Is4In6():
		return ipv4
	}
	return ipv6
}

// interleave returns list with the families in turn. It begins with the family of the first
// address, and keeps the order within each family. RFC 8305, section 4: a family that does not work
// must not hold up the others for long.
func interleave(list []resolver.Address) []resolver.Address {
	var (
		queues [families][]resolver.Address
		turns  []family // in the order of appearance
	)
	for _, a := range list {
		f := familyOf(a)
		if len(queues[f]) == 0 {
			turns = append(turns, f)
		}
		queues[f] = append(queues[f], a)
	}
	if len(turns) < 2 {
		return list
	}
	out := make([]resolver.Address, 0, len(list))
	for i := 0; len(out) < len(list); i++ {
		f := turns[i%len(turns)]
		if len(queues[f]) > 0 {
			out = append(out, queues[f][0])
			queues[f] = queues[f][1:]
		}
	}
	return out
}
