// SPDX-License-Identifier: Apache-2.0

// Package limits counts the connections and RPCs of a server, and says when there are too many: see
// package experimental/limits.
package limits

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/netaddr"
	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/internal/stats"
)

// Config has the limits. Zero stands for no limit.
type Config struct {
	Connections           int
	ConnectionsPerAddress int
	RPCs                  int
	BytesHeld             int64
	Exempt                func(method string) bool // RPCs that are neither counted nor refused; nil: no RPC is exempt
}

// Usage has what a Limiter has counted.
type Usage struct {
	Connections        int
	RPCs               int
	RefusedConnections int64
	RefusedRPCs        int64
}

var (
	refusedConnections = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.server.connections_refused",
		Unit:        "{connection}",
		Description: "Connections that a server has closed at once for its limits.",
		Labels:      []string{"grpc.server.limit"},
	})
	refusedRPCs = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.server.rpcs_refused",
		Unit:        "{call}",
		Description: "RPCs that a server has refused for its limits.",
		Labels:      []string{"grpc.server.limit"},
	})
)

// Limiter counts for one server, or for several servers together.
type Limiter struct {
	cfg  Config
	rpcs atomic.Int64

	refusedConns, refusedRPCs atomic.Int64

	mu     sync.Mutex // guards what follows
	places map[any]netip.Addr
	addrs  map[netip.Addr]int
	// See shrink.Delete.
	mostPlaces, mostAddrs int
}

// New returns a Limiter that has counted nothing yet.
func New(cfg Config) *Limiter {
	return &Limiter{cfg: cfg, places: make(map[any]netip.Addr), addrs: make(map[netip.Addr]int)}
}

// Usage returns the present counts.
func (l *Limiter) Usage() Usage {
	l.mu.Lock()
	conns := len(l.places)
	l.mu.Unlock()
	return Usage{
		Connections: conns, RPCs: int(l.rpcs.Load()),
		RefusedConnections: l.refusedConns.Load(), RefusedRPCs: l.refusedRPCs.Load(),
	}
}

// Accept counts a connection, whose key is holder, and returns true. It returns false if there are too many.
func (l *Limiter) Accept(holder any, held int64, to *stats.Recorders) bool {
	why := l.take(holder, held)
	if why == "" {
		return true
	}
	l.refusedConns.Add(1)
	to.RecordInt64Count(refusedConnections, 1, why)
	return false
}

// take counts a connection. It returns the limit that forbids that, or "" if none does.
func (l *Limiter) take(holder any, held int64) (why string) {
	if l.cfg.BytesHeld > 0 && held > l.cfg.BytesHeld {
		return "bytes_held"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cfg.Connections > 0 && len(l.places) >= l.cfg.Connections {
		return "connections"
	}
	l.places[holder] = netip.Addr{}
	return ""
}

// Admit counts an accepted connection under its address, and returns true. It returns false if there are
// too many of that address. Release must follow in either case.
func (l *Limiter) Admit(holder any, addr net.Addr, to *stats.Recorders) bool {
	if l.cfg.ConnectionsPerAddress <= 0 {
		return true
	}
	ap, _ := netaddr.AddrPort(addr)
	ip := ap.Addr()
	if !ip.IsValid() {
		return true
	}
	l.mu.Lock()
	tooMany := l.addrs[ip] >= l.cfg.ConnectionsPerAddress
	if !tooMany {
		l.addrs[ip]++
		l.places[holder] = ip
	}
	l.mu.Unlock()
	if tooMany {
		l.refusedConns.Add(1)
		to.RecordInt64Count(refusedConnections, 1, "connections_per_address")
	}
	return !tooMany
}

// Move replaces the key of a connection.
func (l *Limiter) Move(from, to any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ip, ok := l.places[from]; ok {
		l.places = shrink.Delete(l.places, from, &l.mostPlaces)
		l.places[to] = ip
	}
}

// Release ends the count of a connection that was accepted.
func (l *Limiter) Release(holder any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ip, ok := l.places[holder]
	if !ok {
		return
	}
	l.places = shrink.Delete(l.places, holder, &l.mostPlaces)
	if !ip.IsValid() {
		return
	}
	if l.addrs[ip]--; l.addrs[ip] == 0 {
		l.addrs = shrink.Delete(l.addrs, ip, &l.mostAddrs)
	}
}

// Full reports whether Enter would refuse an RPC. If so, it counts the RPC as refused.
func (l *Limiter) Full(method string, held func() int64, to *stats.Recorders) bool {
	why := l.whyNot(method, held)
	if why != "" {
		l.refuse(why, to)
	}
	return why != ""
}

// whyNot returns the limit that forbids an RPC, or "" if none does. It asks the limits in the order in which
// Enter asks them.
func (l *Limiter) whyNot(method string, held func() int64) string {
	switch {
	case l.exempt(method):
		return ""
	case l.holdsTooMuch(held):
		return "bytes_held"
	case l.cfg.RPCs > 0 && l.rpcs.Load() >= int64(l.cfg.RPCs):
		return "rpcs"
	}
	return ""
}

func (l *Limiter) holdsTooMuch(held func() int64) bool {
	return l.cfg.BytesHeld > 0 && held() > l.cfg.BytesHeld
}

func (l *Limiter) exempt(method string) bool { return l.cfg.Exempt != nil && l.cfg.Exempt(method) }

func (l *Limiter) refuse(why string, to *stats.Recorders) {
	l.refusedRPCs.Add(1)
	to.RecordInt64Count(refusedRPCs, 1, why)
}

// Enter reports whether an RPC may begin. If it is counted, Leave must be called when the RPC ends.
func (l *Limiter) Enter(method string, held func() int64, to *stats.Recorders) (may, counted bool) {
	if l.exempt(method) {
		return true, false
	}
	if l.holdsTooMuch(held) {
		l.refuse("bytes_held", to)
		return false, false
	}
	if n := l.rpcs.Add(1); l.cfg.RPCs > 0 && n > int64(l.cfg.RPCs) {
		l.rpcs.Add(-1)
		l.refuse("rpcs", to)
		return false, false
	}
	return true, true
}

// Leave is called when an RPC that Enter has counted has ended.
func (l *Limiter) Leave() { l.rpcs.Add(-1) }
