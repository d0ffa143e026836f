// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/peer"
)

// ClientEvents is told what happens to a connection. The methods may be called
// by any goroutine, with no lock held, and must not block.
type ClientEvents interface {
	// Draining says that the connection takes no new streams, before any
	// stream fails for it.
	Draining(GoAway)
	// Places says how many streams the peer lets be open at a time, where it says so,
	// whenever it does.
	Places(n uint32)
	// Closed says that the connection is gone, before its streams are told. It
	// is called exactly once for a connection that Connect returned, and may
	// come before Connect does.
	Closed(err error)
	// Unparkable says that the connection turned out, while it was read, to be one that
	// can't be parked. It must not block.
	Unparkable(why string)
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

	// replied is a stream whose reply is there, and waited for, and whose end may follow in the
	// same batch. Owned by the reader.
	replied *ClientStream
}

// GoAway is how the peer took leave of a connection.
type GoAway struct {
	code  frame.ErrCode
	debug string
}

// Code is the name of the error code.
func (g GoAway) Code() string { return g.code.String() }

// Number is the error code (RFC 9113, section 7).
func (g GoAway) Number() uint32 { return uint32(g.code) }

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

// System is what the operating system knows the connection's socket by, nil if it is not one.
func (c *Client) System() syscall.RawConn { return c.conn.System() }

// Close ends the connection at once; its RPCs fail with err's text.
func (c *Client) Close(err error) { c.conn.Close(err) }

// GracefulClose takes no new stream, and closes when the last one is over.
func (c *Client) GracefulClose() { c.conn.Retire() }

// Streams is how many RPCs are open.
func (c *Client) Streams() int { return c.conn.Streams() }

// scheme is "https" over any credentials that say they are secure.
func (c *Client) scheme() string {
	if c.secure {
		return "https"
	}
	return "http"
}

// watchedClient stands between a connection that is watched and its owner, so that
// connections that are not watched are no larger for it.
type watchedClient struct {
	ClientEvents
	traffic
}

func (c *Client) traffic() *traffic {
	if w, ok := c.events.(*watchedClient); ok {
		return &w.traffic
	}
	return nil
}
