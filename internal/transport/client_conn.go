// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// newClient runs HTTP/2 over nc, whose handshake is done, and waits until the peer has shown that it speaks
// HTTP/2 too.
func newClient(ctx context.Context, nc net.Conn, c *Client) error {
	w := &preface{settled: make(chan struct{})}
	c.wait.Store(w)
	c.conn = h2.New(adopt(nc), h2.Client, &c.cfg.h2, (*clientHandler)(c))
	opened(c.conn)
	c.begin()
	c.conn.Start()
	select {
	case <-w.settled:
		if !w.spoke {
			return c.conn.Cause()
		}
		return nil // if it has been closed since, Closed has told the owner
	case <-ctx.Done():
		err := context.Cause(ctx)
		c.conn.Close(err)
		return err
	}
}

// begin tells that HTTP/2 begins. Stats handlers hear of it: where one leaves by a panic, or ends the goroutine, the
// connection is closed.
func (c *Client) begin() {
	left := true
	defer func() {
		if left {
			c.conn.Close(errBeginLeft)
		}
	}()
	c.events.Begun(c)
	left = false
}

var errBeginLeft = errors.New("transport: a stats handler did not return when it was told of the connection")

// clientHandler is the Client as its connection's handler.
type clientHandler Client

func (h *clientHandler) settle(spoke bool) {
	if w := h.wait.Swap(nil); w != nil {
		w.spoke = spoke
		close(w.settled)
	}
}

// hasReply records that s has its reply, and that its end may follow in the same batch.
func (c *Client) hasReply(s *ClientStream) {
	if before := c.replied; before != nil && before != s {
		before.tellReply()
	}
	c.replied = s
}

func (h *clientHandler) Accept(*h2.HeaderBlock, bool) (*h2.Stream, error) {
	return nil, frame.ConnError(frame.ProtocolError, "a server may not open streams")
}
func (h *clientHandler) Opened(*h2.Stream, bool)      {}
func (h *clientHandler) Ready()                       { h.settle(true) }
func (h *clientHandler) Places(n uint32)              { h.events.Places(n) }
func (h *clientHandler) PingReceived(int, bool) error { return nil }
func (h *clientHandler) AliveAsked()                  { (*Client)(h).traffic().keepaliveSent() }

// BatchEnd implements h2.Handler.
func (h *clientHandler) BatchEnd() {
	if s := h.replied; s != nil {
		h.replied = nil
		s.tellReply()
	}
}

// GoAway implements h2.Handler. A GOAWAY that repeats the last one is not reported again.
func (h *clientHandler) GoAway(code frame.ErrCode, debug []byte) {
	if old := h.leave.Load(); old != nil && old.code == code && old.debug == string(debug) {
		return
	}
	why := GoAway{code, string(debug), h.cfg.Keepalive.Time}
	h.leave.Store(&why)
	drainWaits.tell(h.conn)
	h.events.Draining(why)
}

func (h *clientHandler) Closed(err error) {
	closed(h.conn)
	drainWaits.forget(h.conn)
	h.settle(false)
	h.events.Closed(err)
}

// Told implements h2.EndHandler.
func (h *clientHandler) Told() { h.events.Told(h.conn.Cause()) }

// Unwatched implements h2.ParkObserver.
func (h *clientHandler) Unwatched(err error) {
	if why := unwatchable(err); noteUnwatched(h.conn, why) {
		go func() { // it logs, and the program's logger may end the goroutine
			tellUnwatched(err)
			h.events.Unparkable(why)
		}()
	}
}

// Watched implements h2.ParkObserver.
func (h *clientHandler) Watched() { noteWatched(h.conn) }
