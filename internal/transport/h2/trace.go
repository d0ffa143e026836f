// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/trace"
)

// Config.Trace is asked for at each of the places that call these, and is mostly nil. Where it is
// not, lines are written under no lock of the connection's.

// traceState is how the connection stands, for a line.
func (c *Conn) traceState() trace.State {
	l := c.lock()
	defer l.unlock()
	return trace.State{
		SendWindow: int64(l.windows.Send().Window()),
		RecvWindow: l.windows.Recv(),
		Held:       l.account.held + int64(l.account.records),
		Streams:    l.streams.open(),
	}
}

// traceOpen begins the lines of a connection.
func (c *Conn) traceOpen() {
	side := "server"
	if c.streams.side == Client {
		side = "client"
	}
	c.out.cfg.Trace.Open(c, side, c.wire.nc.LocalAddr().String(), c.wire.nc.RemoteAddr().String(), c.traceState())
}

// traceEvent says that the connection has parked, woken, or the like.
func (c *Conn) traceEvent(event, detail string) {
	c.out.cfg.Trace.Event(c, event, detail, c.traceState())
}

func (c *Conn) traceClosed(err error) { c.out.cfg.Trace.Close(c, err.Error(), c.traceState()) }

// traceReceived says which frame was read.
func (r *reader) traceReceived(h frame.Header, payload []byte) {
	c := (*Conn)(r)
	r.out.cfg.Trace.Received(c, h, payload, c.traceState())
}

// traceSent says which frames are about to be written.
func (w *writer) traceSent(p *outbuf) {
	pieces := [][]byte{p.head()}
	if !p.whole() {
		pieces = p.vector(0)
	}
	c := (*Conn)(w)
	w.out.cfg.Trace.Sent(c, pieces, c.traceState())
}
