// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"syscall"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/peer"
)

// ErrUnavailable is why a stream could not be started, when nothing of it has
// reached the peer: the RPC may be tried on another connection without the
// application knowing.
var ErrUnavailable = errors.New("the connection takes no new streams")

// Code is the name of the error code.
func (g GoAway) Code() string { return g.code.String() }

// Number is the error code (RFC 9113, section 7).
func (g GoAway) Number() uint32 { return uint32(g.code) }

// Debug is the text that the peer sent with the code, for people to read.
func (g GoAway) Debug() string { return g.debug }

// Expected says that the peer does not complain of anything.
func (g GoAway) Expected() bool { return g.code == frame.NoError }

// TooManyPings says that the peer complains of keepalive pings (gRFC A8).
func (g GoAway) TooManyPings() bool {
	return g.code == frame.EnhanceYourCalm && g.debug == tooManyPings
}

// Peer is the other end. Its fields must not be changed.
func (c *Client) Peer() *peer.Peer { return c.peer }

// AuthInfo is what the handshake found out; nil without credentials.
func (c *Client) AuthInfo() credentials.AuthInfo { return c.peer.AuthInfo }

// Authority is what calls are addressed to unless they say otherwise.
func (c *Client) Authority() string { return c.authority }

// Stats is how the connection stands.
func (c *Client) Stats() ConnStats { return statsOf(c.conn, c.traffic()) }

// WhyNot says why the connection can't be parked, "" if it can be.
func (c *Client) WhyNot() string { return whyNot(c.conn) }

// System gives access to the connection's socket, nil if it is not known to be over one.
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
