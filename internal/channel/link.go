// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
)

// Link is one connection of a subchannel, from the attempt to make it until it is
// closed. It may outlive its subchannel while RPCs go on.
type Link struct {
	// Immutable once the link is used.
	sub    *Subchannel
	addr   *resolver.Address // not changed by anybody
	client *transport.Client

	mu     sync.Mutex
	unfit  bool // it takes no new RPCs
	closed bool
	listed bool            // it is among the channel's links
	reason string          // why it was lost, for metrics; the first that is known
	ctx    context.Context // of the stats handlers; nil without
	socket *channelz.Socket
}

// Client is the connection itself.
func (l *Link) Client() *transport.Client { return l.client }

// Node is the link's subchannel in channelz; nil if that is off.
func (l *Link) Node() *channelz.Node { return l.sub.node }

// connected notes that the connection is made. It may be lost already.
func (l *Link) connected(c *transport.Client) {
	l.mu.Lock()
	l.client = c
	if !l.closed {
		l.listed = l.sub.ch.addLink(l)
		l.beginLocked()
	}
	refused := !l.closed && !l.listed
	l.mu.Unlock()
	if logger.V(2) {
		if why := c.WhyNot(); why != "" {
			logger.Infof("%s: the connection to %s keeps a goroutine and a buffer while it is idle: %s", l.sub.ch.Name, l.addr.Addr, why)
		}
	}
	if refused {
		c.Close(ErrClosing)
	}
}

// beginLocked tells who watches connections.
func (l *Link) beginLocked() {
	peer := l.client.Peer()
	if handlers := l.sub.ch.opts.Transport.StatsHandlers; len(handlers) > 0 {
		l.ctx = context.Background()
		info := &stats.ConnTagInfo{RemoteAddr: peer.Addr, LocalAddr: peer.LocalAddr}
		for _, h := range handlers {
			l.ctx = h.TagConn(l.ctx, info)
		}
		for _, h := range handlers {
			h.HandleConn(l.ctx, &stats.ConnBegin{Client: true})
		}
	}
	if channelz.IsOn() {
		l.socket = channelz.NewSocket(l.sub.node, channelz.Connection, transport.ConnSocket(l.client, l.client.Authority()))
	}
}

// Draining implements transport.ClientEvents.
func (l *Link) Draining(why transport.GoAway) {
	if why.TooManyPings() {
		logger.Errorf("Client received GoAway with error code %v and debug data equal to ASCII %q.", why.Code(), why.Debug())
		l.sub.ch.pingLess()
	} else if !why.Expected() {
		logger.Warningf("%s: %s sent GOAWAY: %v, %q", l.sub.ch.Name, l.addr.Addr, why.Code(), why.Debug())
	}
	l.leave("GOAWAY " + why.Code())
	l.Unusable()
}

// Closed implements transport.ClientEvents.
func (l *Link) Closed(err error) {
	l.leave(reasonOf(err))
	l.Unusable()
	l.mu.Lock()
	l.closed = true
	listed, ctx, socket := l.listed, l.ctx, l.socket
	l.mu.Unlock()
	if listed {
		l.sub.ch.removeLink(l)
	}
	logger.Infof("%s: the connection to %s is closed: %v", l.sub.ch.Name, l.addr.Addr, err)
	if ctx != nil {
		for _, h := range l.sub.ch.opts.Transport.StatsHandlers {
			h.HandleConn(ctx, &stats.ConnEnd{Client: true})
		}
	}
	socket.Close()
}

// Unusable takes the connection away from its subchannel: no RPC is to begin on it.
func (l *Link) Unusable() {
	l.mu.Lock()
	first := !l.unfit
	l.unfit = true
	l.mu.Unlock()
	if first {
		l.sub.lost(l)
	}
}

func (l *Link) isUnfit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unfit
}

// pingLess doubles the keepalive time of connections to come, as a server that closed
// one for too many pings may demand (gRFC A8).
func (ch *Channel) pingLess() {
	old := ch.transport.Load()
	next := *old
	next.Keepalive.Time = max(next.Keepalive.Time, 10*time.Second) * 2
	next.Prepare()
	if old.Keepalive.Time > 0 && ch.transport.CompareAndSwap(old, &next) {
		logger.Warningf("%s: the server received too many pings; they now come every %v", ch.Name, next.Keepalive.Time)
	}
}
