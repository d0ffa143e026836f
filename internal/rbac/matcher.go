// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"net"
	"net/netip"

	"google.golang.org/grpc/internal/netaddr"
)

// Always matches every RPC.
func Always() Matcher { return constant(true) }

// Never matches no RPC.
func Never() Matcher { return constant(false) }

type constant bool

func (c constant) Match(*Request) bool { return bool(c) }

// AllOf matches if all of ms match. It matches if ms is empty.
func AllOf(ms ...Matcher) Matcher { return allOf(ms) }

type allOf []Matcher

func (a allOf) Match(r *Request) bool {
	for _, m := range a {
		if !m.Match(r) {
			return false
		}
	}
	return true
}

// AnyOf matches if at least one of ms matches.
func AnyOf(ms ...Matcher) Matcher { return anyOf(ms) }

type anyOf []Matcher

func (a anyOf) Match(r *Request) bool {
	for _, m := range a {
		if m.Match(r) {
			return true
		}
	}
	return false
}

// Not matches if m does not.
func Not(m Matcher) Matcher { return not{m} }

type not struct{ m Matcher }

func (n not) Match(r *Request) bool { return !n.m.Match(r) }

// Path matches the full method name, "/pkg.Service/Method".
func Path(t Text) Matcher { return path{t} }

type path struct{ text Text }

func (p path) Match(r *Request) bool { return p.text.Match(r.method) }

// TLS matches RPCs on TLS connections, with or without a client certificate.
func TLS() Matcher { return tlsOnly{} }

type tlsOnly struct{}

func (tlsOnly) Match(r *Request) bool {
	_, ok := r.tls()
	return ok
}

// Principal matches if one of the names that Request.principals returns does. It never
// matches an RPC on a connection without TLS.
func Principal(t Text) Matcher { return principal{t} }

type principal struct{ text Text }

func (p principal) Match(r *Request) bool {
	for _, name := range r.principals() {
		if p.text.Match(name) {
			return true
		}
	}
	return false
}

// Source matches an RPC if the client's IP address is in the range.
func Source(in netip.Prefix) Matcher { return source{in.Masked()} }

type source struct{ in netip.Prefix }

func (s source) Match(r *Request) bool { return contains(s.in, r.peer.Addr) }

// Destination matches an RPC if the server's IP address, on the RPC's connection, is in the
// range.
func Destination(in netip.Prefix) Matcher { return destination{in.Masked()} }

type destination struct{ in netip.Prefix }

func (d destination) Match(r *Request) bool { return contains(d.in, r.peer.LocalAddr) }

// DestinationPort matches an RPC if the server's port, on the RPC's connection, is at least
// from and less than to.
func DestinationPort(from, to int) Matcher { return destinationPort{from, to} }

type destinationPort struct{ from, to int }

func (d destinationPort) Match(r *Request) bool {
	ap, ok := netaddr.AddrPort(r.peer.LocalAddr)
	port := int(ap.Port())
	return ok && d.from <= port && port < d.to
}

func contains(in netip.Prefix, a net.Addr) bool {
	ap, ok := netaddr.AddrPort(a)
	return ok && in.Contains(ap.Addr().WithZone("")) // no prefix contains an address with a zone
}
