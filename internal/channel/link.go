// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"math"
	"time"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
)

// Client returns the connection itself.
func (l *Link) Client() *transport.Client { return l.client }

// Node returns the subchannel's node in channelz, or nil if channelz is off.
func (l *Link) Node() *channelz.Node { return l.sub.node }

// connected records c, the connection that was made. c may be lost already.
func (l *Link) connected(c *transport.Client) {
	l.mu.Lock()
	l.client = c
	if !l.closed {
		l.listed = l.sub.ch.addLink(l)
		l.listSocketLocked()
	}
	refused := !l.closed && !l.listed
	l.mu.Unlock()
	if why := c.WhyNot(); why != "" {
		l.Unparkable(why)
	}
	if refused {
		c.Close(ErrClosing)
	}
}

// listSocketLocked makes the connection known to channelz.
func (l *Link) listSocketLocked() {
	if channelz.IsOn() {
		l.socket = channelz.NewSocket(l.sub.node, channelz.Connection, l)
	}
}

// ChannelzSocket implements channelz.SocketSource. gRFC A105 adds MaxStreams and GoAway.
func (l *Link) ChannelzSocket() channelz.SocketData {
	d := transport.ConnSocket(l.client, l.client.Authority()).ChannelzSocket()
	d.MaxStreams = math.MaxUint32 // RFC 9113, section 6.5.2: there is no limit unless the server sets one
	if n := l.places.Load(); n != 0 {
		d.MaxStreams = uint32(n - 1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left {
		code := l.goAway
		d.GoAway = &code
	}
	return d
}

// Unparkable implements transport.ClientEvents.
func (l *Link) Unparkable(why string) {
	if logger.V(2) {
		logger.Infof("%s: the connection to %s keeps a goroutine and a buffer while it is idle: %s", l.sub.ch.Name, l.addr.Addr, why)
	}
}

func (l *Link) isUnfit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unfit
}

// pingLess makes the keepalive time of later connections at least twice that of one that a server has closed
// because of too many pings (gRFC A8). Many servers may say so of connections that were made with the same time.
func (ch *Channel) pingLess(pinged time.Duration) {
	if pinged <= 0 {
		return
	}
	least := max(pinged, transport.MinClientPingInterval)
	if least < math.MaxInt64/2 {
		least *= 2
	}
	for {
		old := ch.transport.Load()
		if old.Keepalive.Time >= least {
			return
		}
		next := *old
		next.Keepalive.Time = least
		next.Prepare()
		if ch.transport.CompareAndSwap(old, &next) {
			logger.Warningf("%s: the server received too many pings; they now come every %v", ch.Name, least)
			return
		}
	}
}
