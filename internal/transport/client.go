// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/peer"
)

// ErrUnavailable says that a stream could not be started, and that nothing of it has reached the peer: the
// RPC may be tried on another connection without the application knowing.
var ErrUnavailable = errors.New("the connection takes no new streams")

// ErrNotAlive is why a connection ended whose peer did not answer keepalive in time.
var ErrNotAlive error = h2.ErrNotAlive

// Code returns the name of the error code.
func (g GoAway) Code() string { return g.code.String() }

// Number returns the error code (RFC 9113, section 7).
func (g GoAway) Number() uint32 { return uint32(g.code) }

// IsKnown reports whether RFC 9113 has the code.
func (g GoAway) IsKnown() bool { return g.code <= frame.HTTP11Required }

// Debug returns the text that the peer sent with the code, for people to read.
func (g GoAway) Debug() string { return g.debug }

// IsOrderly reports whether the peer complains of nothing.
func (g GoAway) IsOrderly() bool { return g.code == frame.NoError }

// TooManyPings reports whether the peer complains of keepalive pings (gRFC A8).
func (g GoAway) TooManyPings() bool {
	return g.code == frame.EnhanceYourCalm && g.debug == tooManyPings
}

// Keepalive returns the keepalive time of the connection; not positive: there are no pings.
func (g GoAway) Keepalive() time.Duration { return g.keepalive }

// Peer returns the other end. Its fields must not be changed.
func (c *Client) Peer() *peer.Peer { return c.peer }

// AuthInfo returns what the handshake found out; nil without credentials.
func (c *Client) AuthInfo() credentials.AuthInfo { return c.peer.AuthInfo }

// Authority returns the authority of calls that name no other.
func (c *Client) Authority() string { return c.authority }

// Stats returns the state of the connection.
func (c *Client) Stats() ConnStats { return statsOf(c.conn, c.traffic()) }

// WhyNot returns why the connection can't be parked, or "" if it can be.
func (c *Client) WhyNot() string { return whyNot(c.conn) }

// System returns access to the connection's socket, or nil if it is not known to be over one.
func (c *Client) System() syscall.RawConn { return c.conn.System() }

// Close ends the connection at once; its RPCs fail with err's text.
func (c *Client) Close(err error) { c.conn.Close(err) }

// GracefulClose makes the connection take no new stream, and close when the last one is over.
func (c *Client) GracefulClose() { c.conn.Retire() }

// scheme returns "https" over credentials whose SecurityProtocol is "tls", and "http" over all others, also
// if they are secure, as ALTS is.
func (c *Client) scheme() string {
	if c.secure {
		return "https"
	}
	return "http"
}
