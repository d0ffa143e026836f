// SPDX-License-Identifier: Apache-2.0

// Package credentials has what several packages of credentials do alike.
package credentials

import (
	"crypto/tls"
	"net"
	"net/url"
	"slices"
)

// AppendH2ToNextProtos returns protocols with "h2" among them, without writing to the
// caller's array.
func AppendH2ToNextProtos(protocols []string) []string {
	if slices.Contains(protocols, "h2") {
		return protocols
	}
	return append(slices.Clip(protocols), "h2")
}

// CloneTLSConfig returns a copy of c, an empty configuration for nil.
func CloneTLSConfig(c *tls.Config) *tls.Config {
	if c == nil {
		return &tls.Config{}
	}
	return c.Clone()
}

// SPIFFEIDFromState returns the SPIFFE ID of the peer's certificate, nil if it has none.
func SPIFFEIDFromState(s tls.ConnectionState) *url.URL {
	return SPIFFEID(s.PeerCertificates)
}

// WrapSyscallConn returns conn, which was made over raw. It is for modules beside this one
// (see package internal): this module finds the socket below a connection by itself, and a
// *tls.Conn is waited for and read best as what it is.
func WrapSyscallConn(_, conn net.Conn) net.Conn { return conn }
