// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// sendPreface queues what this side begins with, RFC 9113 section 3.4. mu is
// held.
func (c *Conn) sendPreface() {
	c.out.reserve(128, c.pool)
	if c.side == Client {
		c.out.b = append(c.out.b, frame.ClientPreface...)
	}
	c.appendLocalSettings()
	if w := c.cfg.ConnWindow; w > flow.DefaultWindow {
		c.appendWindowUpdate(0, c.inflow.SetTarget(w))
	}
	if c.cfg.PrefaceTimeout > 0 {
		c.setReadDeadline(time.Now().Add(c.cfg.PrefaceTimeout))
	}
}

// readPreface takes the client's first bytes, on a server.
func (c *Conn) readPreface() error {
	if c.side == Client {
		return nil
	}
	b, err := c.rd.Peek(len(frame.ClientPreface))
	if err != nil {
		return err
	}
	// "Clients and servers MUST treat an invalid connection preface as a
	// connection error of type PROTOCOL_ERROR."
	if string(b) != frame.ClientPreface {
		return frame.ConnError(frame.ProtocolError, "the connection does not begin with the HTTP/2 preface")
	}
	_, err = c.rd.Discard(len(frame.ClientPreface))
	return err
}

// prefaceArrived ends the time limit on the preface.
func (c *Conn) prefaceArrived() {
	if c.cfg.PrefaceTimeout > 0 {
		c.mu.Lock()
		c.setReadDeadline(time.Time{})
		c.mu.Unlock()
	}
	c.startKeepalive()
}
