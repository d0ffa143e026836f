// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
)

// ClientEvents is told what happens to a connection. The methods may be called
// by any goroutine, with no lock held, and must not block.
type ClientEvents interface {
	// Draining says that the connection takes no new streams, before any
	// stream fails for it.
	Draining(GoAway)
	// Closed says that the connection is gone, before its streams are told. It
	// is called exactly once for a connection that Connect returned, and may
	// come before Connect does.
	Closed(err error)
}

// ErrUnavailable is why a stream could not be started, when nothing of it has
// reached the peer: the RPC may be tried on another connection without the
// application knowing.
var ErrUnavailable = errors.New("the connection takes no new streams")

// Client is one connection of a channel. It is safe for concurrent use.
type Client struct {
	conn      *h2.Conn
	cfg       *ClientConfig
	events    ClientEvents
	authority string
	secure    bool
	peer      peer.Peer

	leave atomic.Pointer[GoAway] // why the peer takes leave; nil if it does not

	wait atomic.Pointer[preface] // nil once the peer has spoken HTTP/2, or never will
}

// GoAway is how the peer took leave of a connection.
type GoAway struct {
	code  frame.ErrCode
	debug string
}

// Code is the name of the error code.
func (g GoAway) Code() string { return g.code.String() }

// Debug is what the peer said beside it, for people to read.
func (g GoAway) Debug() string { return g.debug }

// Expected says that it is no complaint.
func (g GoAway) Expected() bool { return g.code == frame.NoError }

// TooManyPings says that the peer complains of keepalive pings (gRFC A8).
func (g GoAway) TooManyPings() bool {
	return g.code == frame.EnhanceYourCalm && g.debug == tooManyPings
}

// preface is the wait for the peer to show that it speaks HTTP/2.
type preface struct {
	settled chan struct{} // closed at the end of it
	spoke   bool          // whether it did; written before
}

// newClient runs HTTP/2 over nc, whose handshake is done, and waits until the
// peer has shown that it speaks it too.
func newClient(ctx context.Context, nc net.Conn, c *Client) error {
	w := &preface{settled: make(chan struct{})}
	c.wait.Store(w)
	c.conn = h2.New(tlsconn.Adopt(nc), h2.Client, &c.cfg.h2, (*clientHandler)(c))
	opened(c.conn)
	c.conn.Start()
	select {
	case <-w.settled:
		if !w.spoke {
			return c.conn.Cause()
		}
		return nil // should it be closed again by now, Closed has told
	case <-ctx.Done():
		err := context.Cause(ctx)
		c.conn.Close(err)
		return err
	}
}

// Peer is the other end. Its fields must not be changed.
func (c *Client) Peer() *peer.Peer { return &c.peer }

// AuthInfo is what the handshake found out; nil without credentials.
func (c *Client) AuthInfo() credentials.AuthInfo { return c.peer.AuthInfo }

// Authority is what calls are addressed to unless they say otherwise.
func (c *Client) Authority() string { return c.authority }

// Stats is how the connection stands.
func (c *Client) Stats() ConnStats { return statsOf(c.conn, c.traffic()) }

// WhyNot says why the connection can't be parked, "" if it can be.
func (c *Client) WhyNot() string { return c.conn.WhyNot() }

// Close ends the connection at once; its RPCs fail with err's text.
func (c *Client) Close(err error) { c.conn.Close(err) }

// GracefulClose takes no new stream, and closes when the last one is over.
func (c *Client) GracefulClose() { c.conn.Retire() }

// Streams is how many RPCs are open.
func (c *Client) Streams() int { return c.conn.Streams() }

// Payload is a message to send. Its data belongs to the transport as soon as it
// is passed to a method, which frees it in every case.
type Payload struct {
	Data       mem.BufferSlice
	Compressed bool
}

func (p *Payload) frames() (f h2.Frames) {
	f.HasData = true
	f.Data = p.Data
	f.Prefix = grpcwire.Prefix(p.Compressed, uint32(p.Data.Len()))
	return f
}

// NewStream starts a call, and sends its first message along if first is not
// nil; last says that there will be no other. It may wait for a place under the
// peer's limit of streams, until ctx is done.
//
// The error is ErrUnavailable, ctx's error, or an error with a status that says
// what is wrong with the call. In no case did the peer see anything of it.
func (c *Client) NewStream(ctx context.Context, call *Call, first *Payload, last bool) (*ClientStream, error) {
	s := &ClientStream{client: c, ctx: ctx, call: call}
	s.h2.Init((*clientReceiver)(s), 0)
	s.body.init(c.cfg.BufferPool, call.MaxRecvMsgSize)
	if err := s.call.prepare(ctx); err != nil {
		if first != nil {
			first.Data.Free()
		}
		return nil, err
	}
	f := h2.Frames{End: last}
	if first != nil {
		f = first.frames()
		f.End = last
	}
	f.Headers = (*callFields)(s)
	s.sentEnd = last
	if err := c.conn.Open(&s.h2, f, ctx.Done()); err != nil {
		return nil, openError(ctx, err)
	}
	if t := c.traffic(); t != nil {
		t.streamBegan()
		if first != nil {
			t.messageSent()
		}
	}
	return s, nil
}

func openError(ctx context.Context, err error) error {
	var tooLarge *h2.ErrHeaderListTooLarge
	switch {
	case errors.As(err, &tooLarge):
		return headerListError(tooLarge).Err()
	case errors.Is(err, h2.ErrNoPlace):
		return ctx.Err()
	default:
		return ErrUnavailable
	}
}

// clientHandler is the Client as its connection's handler.
type clientHandler Client

func (h *clientHandler) settle(spoke bool) {
	if w := h.wait.Swap(nil); w != nil {
		w.spoke = spoke
		close(w.settled)
	}
}

func (h *clientHandler) Accept(*h2.HeaderBlock, bool) (*h2.Stream, error) {
	return nil, frame.ConnError(frame.ProtocolError, "a server may not open streams")
}
func (h *clientHandler) Opened(*h2.Stream, bool)      {}
func (h *clientHandler) BatchEnd()                    {}
func (h *clientHandler) Ready()                       { h.settle(true) }
func (h *clientHandler) PingReceived(int, bool) error { return nil }

func (h *clientHandler) GoAway(code frame.ErrCode, debug string) {
	why := GoAway{code, debug}
	h.leave.Store(&why)
	h.events.Draining(why)
}

func (h *clientHandler) Closed(err error) {
	closed(h.conn)
	h.settle(false)
	h.events.Closed(err)
}
