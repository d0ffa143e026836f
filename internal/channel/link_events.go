// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// Begun implements transport.ClientEvents. It tells the stats handlers of the connection.
func (l *Link) Begun(c *transport.Client) {
	handlers := l.sub.ch.opts.Transport.StatsHandlers
	if len(handlers) == 0 {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	ctx = peer.NewContext(ctx, c.Peer())
	info := &stats.ConnTagInfo{RemoteAddr: c.Peer().Addr, LocalAddr: c.Peer().LocalAddr}
	for _, h := range handlers {
		ctx = h.TagConn(ctx, info)
	}
	l.mu.Lock()
	l.ctx, l.end = ctx, end // if a handler ends the goroutine, all are told of the connection's end
	l.mu.Unlock()
	for _, h := range handlers {
		h.HandleConn(ctx, &stats.ConnBegin{Client: true})
	}
}

// Draining implements transport.ClientEvents.
func (l *Link) Draining(why transport.GoAway) {
	l.leave(reasonOfGoAway(why)) // before the program's logger, as RPCs find out meanwhile
	tells := !why.IsOrderly() && l.mayTell()
	if why.TooManyPings() {
		l.sub.ch.pingLess(why.Keepalive())
	}
	switch {
	case !tells:
	case why.TooManyPings():
		logger.Errorf("Client received GoAway with error code %v and debug data equal to ASCII %q.", why.Code(), why.Debug())
	default:
		// The errors of RPCs have the debug data. The log does not, as it is kept for longer (RFC
		// 9113, section 6.8).
		logger.Warningf("%s: %s sent GOAWAY: %v", l.sub.ch.Name, l.addr.Addr, why.Code())
	}
	l.mu.Lock()
	l.left, l.goAway = true, why.Number()
	l.mu.Unlock()
	l.lose()
}

// maxTold is how many GOAWAYs of one connection, which have an error, the log is told: a server may send any number.
const maxTold = 4

// mayTell reports whether the log is told of another GOAWAY.
func (l *Link) mayTell() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == maxTold {
		return false
	}
	l.told++
	return true
}

// Closed implements transport.ClientEvents.
func (l *Link) Closed(err error) {
	l.leave(reasonOf(err))
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.lose()
}

// Told implements transport.ClientEvents.
func (l *Link) Told(err error) {
	defer l.forget() // also if a stats handler ends the goroutine
	logger.Infof("%s: the connection to %s is closed: %v", l.sub.ch.Name, l.addr.Addr, transport.WithoutDebugData(err))
	if why := transport.Failure(err); why != nil {
		l.sub.node.Trace(channelz.Warning, "the connection to "+l.addr.Addr+" was lost: "+why.Error(), nil)
	}
	l.claimEnd()()
}

// forget removes the connection from the channel's list. The channel's Close tells the end of those in it.
func (l *Link) forget() {
	l.mu.Lock()
	listed := l.listed
	l.mu.Unlock()
	if listed {
		l.sub.ch.removeLink(l)
	}
}

// claimEnd returns a function that tells the stats handlers and channelz that the connection is closed, which the caller
// calls without a lock, and at once if it is closed. To another caller than the first it returns one that does nothing:
// the reader does not wait for the channel's Close, nor Close for the reader, as a handler may call Close.
func (l *Link) claimEnd() (tell func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, end, socket := l.ctx, l.end, l.socket
	l.ctx, l.end, l.socket = nil, nil, nil
	return func() {
		defer socket.Close()
		if ctx == nil {
			return
		}
		end()
		for _, h := range l.sub.ch.opts.Transport.StatsHandlers {
			h.HandleConn(ctx, &stats.ConnEnd{Client: true})
		}
	}
}

// Unusable takes the connection away from its subchannel. An RPC calls it that could not begin on it:
// Draining or Closed will say why, and count the loss.
func (l *Link) Unusable() {
	if l.bar() {
		l.sub.remove(l)
	}
}

// lose counts the connection as lost, and takes it away from its subchannel after that.
func (l *Link) lose() {
	if l.bar() {
		defer l.sub.remove(l) // also if a recorder ends the goroutine
	}
	l.gone()
}

// bar has no more RPCs begin on the connection. It reports whether they could until now.
func (l *Link) bar() bool {
	l.mu.Lock()
	first := !l.unfit
	l.unfit = true
	l.mu.Unlock()
	if first {
		l.sub.mu.Lock()
		l.sub.exposeLocked()
		l.sub.mu.Unlock()
	}
	return first
}
