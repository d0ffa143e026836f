// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"net/netip"
	"slices"
	"sync/atomic"

	lbpb "google.golang.org/grpc/balancer/grpclb/grpc_lb_v1"
	"google.golang.org/grpc/resolver"
)

// entry is a server, or an instruction to drop an RPC.
type entry struct {
	addr  string // empty: drop
	token string
}

// serverList is a list that a load balancer sent. Only next changes.
type serverList struct {
	entries []entry
	drops   bool // some entry drops
	servers bool // some entry is a server
	next    atomic.Uint64
}

// newServerList returns the serverList of a message. It leaves out servers whose address or port is
// not valid.
func newServerList(in *lbpb.ServerList) *serverList {
	l := &serverList{entries: make([]entry, 0, len(in.GetServers()))}
	for _, s := range in.GetServers() {
		if s.GetDrop() {
			l.drops = true
			l.entries = append(l.entries, entry{token: s.GetLoadBalanceToken()})
			continue
		}
		ip, ok := netip.AddrFromSlice(s.GetIpAddress())
		if !ok || s.GetPort() < 1 || s.GetPort() > 65535 {
			logger.Warningf("the load balancer named a server with %d bytes of address and port %d; it is left out", len(s.GetIpAddress()), s.GetPort())
			continue
		}
		l.servers = true
		addr := netip.AddrPortFrom(ip.Unmap(), uint16(s.GetPort())).String()
		l.entries = append(l.entries, entry{addr: addr, token: printable(s.GetLoadBalanceToken())})
	}
	return l
}

// printable returns the token, or "" if metadata can't carry it.
func printable(token string) string {
	if slices.ContainsFunc([]byte(token), func(c byte) bool { return c < ' ' || c > '~' }) {
		logger.Warningf("the load balancer gave a server a token that is not printable; RPCs go without")
		return ""
	}
	return token
}

func (l *serverList) equal(o *serverList) bool {
	return l != nil && o != nil && slices.Equal(l.entries, o.entries)
}

// addresses returns the addresses of the servers, each once. They have an attribute that makes them
// differ from addresses that a resolver finds, as they may need other credentials.
func (l *serverList) addresses() []resolver.Address {
	var out []resolver.Address
	seen := make(map[string]bool, len(l.entries))
	for _, e := range l.entries {
		if e.addr == "" || seen[e.addr] {
			continue
		}
		seen[e.addr] = true
		out = append(out, fromBalancer(resolver.Address{Addr: e.addr}))
	}
	return out
}

// token returns a server's token, the first one if the server has several entries.
func (l *serverList) token(addr string) string {
	for _, e := range l.entries {
		if e.addr == addr {
			return e.token
		}
	}
	return ""
}

// drop reports whether the policy must drop the next RPC, and returns the token to count it under.
func (l *serverList) drop() (token string, drop bool) {
	if !l.drops {
		return "", false
	}
	n := l.next.Add(1) - 1
	e := l.entries[n%uint64(len(l.entries))]
	return e.token, e.addr == ""
}

type fromBalancerKey struct{}

func fromBalancer(a resolver.Address) resolver.Address {
	a.Attributes = a.Attributes.WithValue(fromBalancerKey{}, true)
	return a
}

func isFromBalancer(a resolver.Address) bool { return a.Attributes.Value(fromBalancerKey{}) != nil }
