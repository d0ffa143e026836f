// SPDX-License-Identifier: Apache-2.0

// Package credentials has functions that several packages of credentials use.
package credentials

import (
	"crypto/tls"
	"net"
	"net/url"
	"slices"
)

// AppendH2ToNextProtos returns protocols with "h2" among them. It does not write to the
// caller's array.
func AppendH2ToNextProtos(protocols []string) []string {
	if slices.Contains(protocols, "h2") {
		return protocols
	}
	return append(slices.Clip(protocols), "h2")
}

// CloneTLSConfig returns a copy of c. For a nil c it returns an empty configuration.
func CloneTLSConfig(c *tls.Config) *tls.Config {
	if c == nil {
		return &tls.Config{}
	}
	return c.Clone()
}

// SPIFFEIDFromState returns the SPIFFE ID of the peer's certificate, or nil if it has none.
func SPIFFEIDFromState(s tls.ConnectionState) *url.URL {
	return SPIFFEID(s.PeerCertificates)
}

// WrapSyscallConn returns conn as it is. The other modules that use package internal call it
// with the raw connection and a conn made over that. No wrapper is needed: this module finds
// the socket below a connection by itself, and handles a *tls.Conn best when it is not wrapped.
func WrapSyscallConn(_, conn net.Conn) net.Conn { return conn }
