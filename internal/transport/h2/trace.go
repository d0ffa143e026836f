// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"fmt"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/transport/h2/trace"
)

// The callers of these functions check first whether DriverConfig.Trace is set, which it usually is
// not. If it is, lines are written while no lock of the connection is held.

// traceState returns the state of the connection, for a line of the trace.
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

// traceOpen writes the first line of a connection.
func (c *Conn) traceOpen() {
	side := "server"
	if c.core.Side() == protocol.Client {
		side = "client"
	}
	c.tracer().Open(c, side, fmt.Sprint(c.wire.Conn.LocalAddr()), fmt.Sprint(c.wire.Conn.RemoteAddr()), c.traceState())
}

// traceEvent writes that the connection has parked, woken, or the like.
func (c *Conn) traceEvent(event, detail string) {
	c.tracer().Event(c, event, detail, c.traceState())
}

func (c *Conn) traceClosed(err error) { c.tracer().Close(c, err.Error(), c.traceState()) }

// traceReceived writes which frame was read.
func (r *reader) traceReceived(h frame.Header, payload []byte) {
	c := (*Conn)(r)
	r.tracer().Received(c, h, payload, c.traceState())
}

// traceSent writes which frames are about to be written.
func (w *writer) traceSent(p *protocol.Parcel) {
	pieces := [][]byte{p.Head()}
	if !p.Whole() {
		pieces = p.Vector(0)
	}
	c := (*Conn)(w)
	(*Conn)(w).tracer().Sent(c, pieces, c.traceState())
}
