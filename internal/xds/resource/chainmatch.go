// SPDX-License-Identifier: Apache-2.0

package resource

import "net/netip"

// Match returns the filter chain for a connection from client to the server's address. If no
// chain matches, it returns Default, which may be nil. Nil means that the connection must be
// closed before anything is sent on it (A36).
//
// Match narrows the rules down in five stages. It keeps the rules with the longest prefix of
// the server's address; of these, those with a transport protocol; of these, those with a
// source type; then those with the longest prefix of the client's address; then those with its
// port. Rules that do not specify a value match only if no rule that specifies it does. Match
// never goes back to an earlier stage.
func (l *ServerListener) Match(client, server netip.AddrPort) *FilterChain {
	c := connection{
		client: client.Addr().Unmap().WithZone(""), server: server.Addr().Unmap().WithZone(""), port: client.Port(),
	}
	if chain := l.index.find(&c); chain != nil {
		return chain
	}
	return l.Default
}
