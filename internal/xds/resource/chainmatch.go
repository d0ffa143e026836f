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
	if chain := l.index.find(&c); chain != nil {
		return chain
	}
	return l.Default
}
