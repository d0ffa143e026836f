// SPDX-License-Identifier: Apache-2.0

// Package netaddr reads addresses of connections. These may be of types of programs' own.
package netaddr

import (
	"net"
	"net/netip"
)

// AddrPort returns the IP address and port of a, and false if a has none, as with a unix socket. An IPv4-mapped
// address such as ::ffff:10.0.0.1, which a dual-stack listener reports, becomes the IPv4 address.
func AddrPort(a net.Addr) (netip.AddrPort, bool) {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return unmapped(tcp.AddrPort()), true
	}
	if a == nil {
		return netip.AddrPort{}, false
	}
	ap, err := netip.ParseAddrPort(a.String())
	return unmapped(ap), err == nil
}

func unmapped(ap netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// Text returns a's text, or "" if a is nil.
func Text(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}
