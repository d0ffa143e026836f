// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/transport/h2/trace"
)

// DriverConfig.Trace is asked for at each of the places that call these, and is mostly nil. Where it is
// not, lines are written under no lock of the connection's.

// traceState is how the connection stands, for a line.
func (c *Conn) traceState() trace.State {
	l := c.lock()
	defer l.unlock()
	s := l.core.State()
	return trace.State{
		SendWindow: int64(s.SendWindow),
		RecvWindow: s.RecvWindow,
		Held:       s.Held + s.Records,
		Streams:    s.Streams,
	}
}

// traceOpen begins the lines of a connection.
func (c *Conn) traceOpen() {
	side := "server"
	if c.core.Side() == protocol.Client {
		side = "client"
	}
	c.tracer().Open(c, side, c.wire.Conn.LocalAddr().String(), c.wire.Conn.RemoteAddr().String(), c.traceState())
}

// traceEvent says that the connection has parked, woken, or the like.
func (c *Conn) traceEvent(event, detail string) {
	c.tracer().Event(c, event, detail, c.traceState())
}

func (c *Conn) traceClosed(err error) { c.tracer().Close(c, err.Error(), c.traceState()) }

// traceReceived says which frame was read.
func (r *reader) traceReceived(h frame.Header, payload []byte) {
	c := (*Conn)(r)
	r.tracer().Received(c, h, payload, c.traceState())
}

// traceSent says which frames are about to be written.
func (w *writer) traceSent(p *protocol.Parcel) {
	pieces := [][]byte{p.Head()}
	if !p.Whole() {
		pieces = p.Vector(0)
	}
	c := (*Conn)(w)
	(*Conn)(w).tracer().Sent(c, pieces, c.traceState())
}
