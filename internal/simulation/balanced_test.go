// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc/backoff"
	estats "google.golang.org/grpc/experimental/stats"
	internalbackoff "google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/healthcheck"
	internalstats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/stats"
)

// balanced is a channel in front of several servers: package channel's own, with round_robin or pick_first as
// they are. The connections that it makes are links as others are. Its goroutines stop where they dial, and
// where the policy is about to be told of a subchannel: all that lies between happens within one step.
type balanced struct {
	w       *world
	ch      channel.Channel
	options channel.Options
	first   bool // the policy is pick_first
	eager   bool // the resolver answers each request at once
	hosts   []*host
	policy  *policy // the channel's; nil before the resolver's first answer

	names     resolver.ClientConn // what the resolver tells; nil while there is none
	answering bool                // a program tells the channel what the resolver has found
	closed    bool                // somebody has closed the channel, or is about to
	over      bool                // it is closed
	failures  int                 // of the resolver, and attempts to connect that a server has refused
}

// host is a server. It has a link for each connection to it.
type host struct {
	name   string
	down   bool // it refuses connections
	listed bool // the resolver has named it last
	again  bool // and has not, in between: a subchannel of before may dial until it hears of that
}

// list has the resolver name the server from now on, or not.
func (h *host) list(named bool) {
	h.again = h.again || named && !h.listed
	h.listed = named
}

const (
	minConnect  = 5 * time.Second // how long an attempt to connect may take
	shortPause  = 100 * time.Millisecond
	longPause   = 2 * time.Second
	maxBalanced = 20 // links of a history: then no server is reached any more
)

// atWork is the channel of the history that runs: builders of policies are known to the whole process. One
// goroutine at a time runs histories.
var atWork *balanced

// balance makes a channel in place of a first connection.
func (w *world) balance() {
	b := &balanced{w: w, first: w.c.pick(3) == 0, eager: w.c.pick(2) == 0}
	atWork, w.balanced = b, b
	for i := range 1 + w.c.pick(3) {
		b.hosts = append(b.hosts, &host{name: fmt.Sprintf("host%d", i), listed: true, down: w.c.rarely(6)})
	}
	b.options = channel.Options{
		Transport: w.client, Recorders: internalstats.NewRecorders(nil, slowRecorder{w: w}), MinConnectTimeout: minConnect, Fallback: roundRobinConfig(),
		Backoff: internalbackoff.Exponential{Config: backoff.Config{BaseDelay: shortPause, Multiplier: 2, MaxDelay: longPause}},
	}
	if b.first {
		b.options.Fallback = pickFirstConfig()
	}
	b.options.Transport.Dial = b.dial
	b.options.Transport.StatsHandlers = []stats.Handler{b}
	b.options.Transport.Prepare()
	to, err := channel.FindTarget("names:///servers", "names", []resolver.Builder{b})
	if err == nil {
		err = to.SettleAuthority("virtual", nil)
	}
	if err != nil {
		panic(err)
	}
	b.ch.Init(to, &b.options, b, nil)
	w.note(nil, "%d servers, pick_first %v", len(b.hosts), b.first)
}

// dial is the channel's: it makes a link.
func (b *balanced) dial(ctx context.Context, addr string) (net.Conn, error) {
	w, begun := b.w, time.Now()
	w.mu.Lock()
	h, m := b.host(addr), b.policy.member(addr)
	m.checkPause(b)
	w.mu.Unlock()
	w.yield(atProgram, nil)
	w.note(nil, "the channel dials %s", addr)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case b.closed:
		b.failures++
		return nil, net.ErrClosed
	case h.down || len(w.links) >= maxBalanced && !w.settling:
		m.refused, b.failures = true, b.failures+1
		w.reach(refusedDial)
		return nil, syscall.ECONNREFUSED
	}
	l := w.newLink()
	l.host, l.dialed = h, begun
	if !h.listed || h.again {
		l.retire("its server is not listed any more, or was not")
	}
	w.program("accept", l.accept)
	return l.near.conn()
}

func (b *balanced) host(addr string) *host {
	for _, h := range b.hosts {
		if h.name == addr {
			return h
		}
	}
	b.w.fail("the channel dials %q, which nobody has named", addr)
	return &host{}
}

// linkOf is the link of a connection of the channel's.
func (b *balanced) linkOf(l *channel.Link) *link {
	for _, x := range b.w.links {
		if x.near.name == l.Client().Peer().LocalAddr.String() {
			if x.client = l.Client(); !x.connected {
				x.connected, x.upSince = true, time.Now()
			}
			return x
		}
	}
	b.w.fail("a connection of the channel's is none that it has dialed")
	return b.w.links[0]
}

// retire notes that the channel gives up a link: it takes no more calls, and may end at any time.
func (l *link) retire(why string) {
	l.w.note(l.near, "is given up by the channel: %s", why)
	l.drained = true
}

// retire has the channel give up all links among some.
func (b *balanced) retire(why string, among func(*link) bool) {
	for _, l := range b.w.links {
		if among(l) {
			l.retire(why)
		}
	}
}

// slow reports whether a link's handshake may have taken too long.
func (l *link) slow() bool {
	return l.host != nil && !l.connected && time.Since(l.dialed) >= minConnect
}

// Scheme implements resolver.Builder.
func (*balanced) Scheme() string { return "names" }

// Build implements resolver.Builder.
func (b *balanced) Build(_ resolver.Target, names resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	b.names = names
	b.answer()
	return b, nil
}

// ResolveNow implements resolver.Resolver.
func (b *balanced) ResolveNow(resolver.ResolveNowOptions) {
	b.w.mu.Lock()
	b.w.reach(resolvesAgain)
	b.w.mu.Unlock()
	if b.eager {
		b.answer()
	}
}

// Close implements resolver.Resolver and resolver.ClientConn's end.
func (b *balanced) Close() { b.names = nil }

// answer has a program tell the channel which servers there are.
func (b *balanced) answer() {
	b.w.mu.Lock()
	busy := b.answering
	b.answering = true
	b.w.mu.Unlock()
	if busy {
		return
	}
	b.w.program("answer of the resolver", func() {
		b.answering = false
		if names := b.names; names != nil {
			b.tell(names)
		}
	})
}

// tell tells the channel which servers are listed.
func (b *balanced) tell(names resolver.ClientConn) {
	var s resolver.State
	for _, h := range b.hosts {
		if h.listed {
			s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: h.name}}})
		}
	}
	b.w.note(nil, "the resolver names %d servers", len(s.Endpoints))
	b.retire("its server is not listed any more", func(l *link) bool { return !l.host.listed })
	if len(s.Endpoints) == 0 {
		b.failures++
	}
	if err := names.UpdateState(s); err != nil && len(s.Endpoints) > 0 && !b.closed {
		b.w.fail("the policy does not take %d servers: %v", len(s.Endpoints), err)
	}
}

// relist has the resolver find other servers, or fail.
func (b *balanced) relist() {
	w := b.w
	if b.answering { // else the list would change twice in one answer, which nobody would notice
		return
	}
	which := w.c.pick(1 << len(b.hosts))
	if which == 0 && w.c.pick(2) == 0 {
		w.program("failure of the resolver", func() {
			if names := b.names; names != nil {
				b.failures++
				names.ReportError(errors.New("simulation: the resolver fails"))
			}
		})
		return
	}
	for i, h := range b.hosts {
		h.list(which&(1<<i) != 0)
	}
	b.answer()
}

// turn has a server come or go.
func (b *balanced) turn(h *host) {
	w := b.w
	h.down = !h.down
	w.note(nil, "%s is down: %v", h.name, h.down)
	if !h.down || w.c.pick(2) == 0 {
		return
	}
	for _, l := range w.links {
		if l.host == h && l.server != nil {
			l.disturb("its server went down")
			w.program("close of the server", func() { l.server.Close(nil) })
		}
	}
}

// reset has the channel forget its pauses.
func (b *balanced) reset() {
	b.w.program("end of the pauses", func() {
		b.policy.forgive()
		b.ch.ResetConnectBackoff()
	})
}

// close ends the channel.
func (b *balanced) close() {
	b.closed = true
	for _, l := range b.w.links {
		l.disturb("the channel was closed")
	}
	b.w.program("close of the channel", func() {
		b.ch.Close()
		b.over = true
	})
}

// settle lets each call come to its end that waits for a server.
func (b *balanced) settle() {
	for _, h := range b.hosts {
		h.down = false
		h.list(true)
	}
	b.answer()
}

// HealthStream implements channel.Owner: nobody asks for the health of servers.
func (*balanced) HealthStream(context.Context, *channel.Link, string) (healthcheck.Stream, error) {
	return nil, errors.ErrUnsupported
}

// ClientOf implements channel.Owner: policies make no RPCs.
func (*balanced) ClientOf(*channel.Subchannel) any { return nil }

// ParseServiceConfig implements channel.Owner: the resolver has none.
func (*balanced) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }

// ServiceConfigOf implements channel.Owner.
func (*balanced) ServiceConfigOf(serviceconfig.Config) *channel.ServiceConfig { return nil }

// TagConn implements stats.Handler.
func (b *balanced) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	for _, l := range b.w.links {
		if l.near.name == info.LocalAddr.String() {
			l.told = true
			return context.WithValue(ctx, linkKey{}, l)
		}
	}
	return ctx
}

type linkKey struct{}

// HandleConn implements stats.Handler.
func (b *balanced) HandleConn(ctx context.Context, s stats.ConnStats) {
	if l, ok := ctx.Value(linkKey{}).(*link); !ok {
		b.w.fail("stats handlers are told of a connection that nobody has made")
	} else if _, end := s.(*stats.ConnEnd); end {
		l.clientClosed++
		l.ended(l.near, nil, l.clientClosed)
	}
}

// TagRPC implements stats.Handler.
func (*balanced) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// slowRecorder is a recorder of metrics that takes its time when a connection was made: what else becomes of its
// subchannel happens meanwhile.
type slowRecorder struct {
	estats.UnimplementedMetricsRecorder
	w *world
}

// RecordInt64Count implements estats.MetricsRecorder.
func (r slowRecorder) RecordInt64Count(*estats.Int64CountHandle, int64, ...string) {
	r.w.yield(atProgram, nil)
}

// HandleRPC implements stats.Handler.
func (*balanced) HandleRPC(context.Context, stats.RPCStats) {}

// fault has one of the faults happen that are the channel's.
func (b *balanced) fault(k faultKind) {
	switch k {
	case faultServer:
		b.turn(b.hosts[b.w.c.pick(len(b.hosts))])
	case faultResolver:
		b.relist()
	case faultPauses:
		b.reset()
	case faultChannelClose:
		if b.w.c.rarely(4) {
			b.close()
		}
	}
}
