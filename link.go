// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
)

// link is one connection of a subchannel, from the attempt to make it until it is
// closed. It may outlive its subchannel while RPCs go on.
type link struct {
	// Immutable once the link is used.
	ac     *addrConn
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

// connected notes that the connection is made. It may be lost already.
func (l *link) connected(c *transport.Client) {
	l.mu.Lock()
	l.client = c
	if !l.closed {
		l.listed = l.ac.cc.addLink(l)
		l.beginLocked()
	}
	refused := !l.closed && !l.listed
	l.mu.Unlock()
	if channelLog.V(2) {
		if why := c.WhyNot(); why != "" {
			channelLog.Infof("%s: the connection to %s keeps a goroutine and a buffer while it is idle: %s", l.ac.cc.target, l.addr.Addr, why)
		}
	}
	if refused {
		c.Close(ErrClientConnClosing)
	}
}

// beginLocked tells who watches connections.
func (l *link) beginLocked() {
	peer := l.client.Peer()
	if handlers := l.ac.cc.opts.transport.StatsHandlers; len(handlers) > 0 {
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
		l.socket = channelz.NewSocket(l.ac.node, channelz.Connection, connSource{l.client, l.client.Authority()})
	}
}

// Draining implements transport.ClientEvents.
func (l *link) Draining(code frame.ErrCode, debug string) {
	if code == frame.EnhanceYourCalm && debug == "too_many_pings" {
		channelLog.Errorf("Client received GoAway with error code %v and debug data equal to ASCII %q.", code, debug)
		l.ac.cc.pingLess()
	} else if code != frame.NoError {
		channelLog.Warningf("%s: %s sent GOAWAY: %v, %q", l.ac.cc.target, l.addr.Addr, code, debug)
	}
	l.leave("GOAWAY " + code.String())
	l.unusable()
}

// Closed implements transport.ClientEvents.
func (l *link) Closed(err error) {
	l.leave(reasonOf(err))
	l.unusable()
	l.mu.Lock()
	l.closed = true
	listed, ctx, socket := l.listed, l.ctx, l.socket
	l.mu.Unlock()
	if listed {
		l.ac.cc.removeLink(l)
	}
	channelLog.Infof("%s: the connection to %s is closed: %v", l.ac.cc.target, l.addr.Addr, err)
	if ctx != nil {
		for _, h := range l.ac.cc.opts.transport.StatsHandlers {
			h.HandleConn(ctx, &stats.ConnEnd{Client: true})
		}
	}
	socket.Close()
}

// unusable takes the connection away from its subchannel: no RPC is to begin on it.
func (l *link) unusable() {
	l.mu.Lock()
	first := !l.unfit
	l.unfit = true
	l.mu.Unlock()
	if first {
		l.ac.lost(l)
	}
}

func (l *link) isUnfit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unfit
}

// pingLess doubles the keepalive time of connections to come, as a server that closed
// one for too many pings may demand (gRFC A8).
func (cc *ClientConn) pingLess() {
	old := cc.transport.Load()
	next := *old
	next.Keepalive.Time = max(next.Keepalive.Time, 10*time.Second) * 2
	next.Prepare()
	if old.Keepalive.Time > 0 && cc.transport.CompareAndSwap(old, &next) {
		channelLog.Warningf("%s: the server received too many pings; they now come every %v", cc.target, next.Keepalive.Time)
	}
}
