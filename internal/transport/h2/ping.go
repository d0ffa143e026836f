// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// The PINGs we send are told apart by their eight bytes.
var (
	bdpPing   = [8]byte{'b', 'd', 'p'}
	alivePing = [8]byte{'a', 'l', 'i', 'v', 'e'}
	drainPing = [8]byte{'d', 'r', 'a', 'i', 'n'}
)

func (c *Conn) onPing(h frame.Header, p []byte) error {
	data, err := frame.ParsePing(h, p)
	if err != nil {
		return err
	}
	if h.Flags.Has(frame.FlagAck) {
		c.onPingAck(data)
		return c.useless()
	}
	c.mu.Lock()
	c.out.reserve(frame.HeaderLen+8, c.cfg.Pool)
	c.out.b = frame.AppendPing(c.out.b, true, data)
	c.replies++
	c.act.caused = true
	streams, sent := c.table.open(), c.sentWork
	c.sentWork = false
	c.mu.Unlock()
	if err := c.handler.PingReceived(streams, sent); err != nil || sent {
		return err // a peer that is being sent to may measure the path
	}
	return c.useless()
}

func (c *Conn) onPingAck(data [8]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch data {
	case bdpPing:
		if c.bdp == nil {
			return
		}
		if n, grown := c.bdp.Acked(time.Now()); grown {
			c.growWindows(n)
		}
	case drainPing:
		if c.draining == drainAnnounced {
			time.AfterFunc(drainGrace, c.drainLate)
		}
	}
	// An answer to keepalive's PING is input like any other: see stampRead.
}

func (c *Conn) appendPing(data [8]byte) {
	c.out.reserve(frame.HeaderLen+8, c.cfg.Pool)
	c.out.b = frame.AppendPing(c.out.b, false, data)
}

// sampleBDP counts n bytes of DATA for the window's estimate. mu is held.
func (c *Conn) sampleBDP(n uint32) {
	if c.cfg.StaticWindow {
		return
	}
	if c.bdp == nil {
		b := flow.NewBDP(c.window)
		c.bdp = &b
	}
	c.bdp.Streams(c.table.open(), uint64(c.table.nextLocal)+uint64(c.table.lastPeer), c.act.now)
	if c.bdp.Received(n, c.act.now) {
		c.appendPing(bdpPing)
	}
}
