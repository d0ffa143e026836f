// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"net"
	"net/netip"
)

// Always matches every RPC.
func Always() Matcher { return constant(true) }

// Never matches none.
func Never() Matcher { return constant(false) }

type constant bool

func (c constant) Match(*Request) bool { return bool(c) }

// AllOf matches if every one of ms does, and so if there are none.
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

// AnyOf matches if one of ms does.
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

// TLS matches RPCs of TLS connections, with a client certificate or without.
func TLS() Matcher { return tlsOnly{} }

type tlsOnly struct{}

func (tlsOnly) Match(r *Request) bool {
	_, ok := r.tls()
	return ok
}

// Principal matches if one of the client's names does; see Request.principals. It never
// matches without TLS.
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

// Source matches clients with an address in a range of IP addresses.
func Source(in netip.Prefix) Matcher { return source{in.Masked()} }

type source struct{ in netip.Prefix }

func (s source) Match(r *Request) bool { return contains(s.in, r.peer.Addr) }

// Destination matches RPCs that came in on an address of a range.
func Destination(in netip.Prefix) Matcher { return destination{in.Masked()} }

type destination struct{ in netip.Prefix }

func (d destination) Match(r *Request) bool { return contains(d.in, r.peer.LocalAddr) }

// DestinationPort matches RPCs that came in on a port: from the first up to, and without,
// the second.
func DestinationPort(from, to int) Matcher { return destinationPort{from, to} }

type destinationPort struct{ from, to int }

func (d destinationPort) Match(r *Request) bool {
	ap, ok := address(r.peer.LocalAddr)
	port := int(ap.Port())
	return ok && d.from <= port && port < d.to
}

func contains(in netip.Prefix, a net.Addr) bool {
	ap, ok := address(a)
	return ok && in.Contains(ap.Addr())
}
