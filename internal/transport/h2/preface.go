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
	c.out.reserve(128, c.cfg.Pool)
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
	// What does not even begin like it, such as a request in HTTP/1, is told so
	// before it is long enough.
	for _, n := range [...]int{4, len(frame.ClientPreface)} {
		b, err := c.await(n)
		if err != nil {
			return err
		}
		// "Clients and servers MUST treat an invalid connection preface as a
		// connection error of type PROTOCOL_ERROR."
		if string(b) != frame.ClientPreface[:n] {
			return frame.ConnError(frame.ProtocolError, "the connection does not begin with the HTTP/2 preface")
		}
	}
	return c.skip(len(frame.ClientPreface))
}

// prefaceArrived ends the time limit on the preface.
func (c *Conn) prefaceArrived() {
	if c.cfg.PrefaceTimeout > 0 {
		c.mu.Lock()
		if !c.dead {
			c.setReadDeadline(time.Time{})
		}
		c.mu.Unlock()
	}
	c.startKeepalive()
}
