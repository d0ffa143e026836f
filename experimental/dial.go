// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"net"
	"time"

	"google.golang.org/grpc"
)

// WithStableAfter has a connection that is lost within d of having been made count as a failed
// attempt: the subchannel is in TRANSIENT_FAILURE for the pause that the back-off makes of all
// failures in a row, and RPCs that do not wait for ready fail with code Unavailable meanwhile. A
// connection that lives longer than d ends the back-off. Ten seconds are a reasonable d.
//
// By default, and with d <= 0, each connection that is made ends the back-off, as in the published
// module: a server, or a load balancer without servers, that accepts connections, speaks HTTP/2
// and closes them is dialed hundreds of times a second while there are RPCs. The price of the
// option is the first pause, a second by default, after a connection was lost early by chance.
//
// It does not matter why the connection is lost: GOAWAY counts as well. A connection that is added
// to others of its subchannel (gRFC A105) does not count. It holds with all balancers and with
// xDS; ResetConnectBackoff ends a pause.
func WithStableAfter(d time.Duration) grpc.DialOption { return dialStable{after: d} }

// WithResolveInterval has the channel ask its resolver to look again about every d, between 0.8 and
// 1.2 times that, so that new servers are found although nothing has failed. By default, and with
// d <= 0, it is asked when a connection is lost or can't be made.
//
// The resolver for dns looks no more often than every 30 s, whatever d is, and a resolver that
// pushes what changes (xDS) need not be asked. A channel that is idle has no resolver, and asks
// nothing. An answer that is the same leaves the connections as they are; pick_first and all
// others keep those connections whose addresses are still there.
func WithResolveInterval(d time.Duration) grpc.DialOption { return dialResolve{every: d} }

// WithTCPProbes has the operating system probe the connections of a channel as cfg says, those of a
// custom dialer too: a server that has vanished without a word is noticed while nothing is
// sent to it, and without keepalive pings, which servers may refuse. It costs a packet for each
// interval, which wakes no process. Connections that are not TCP, or don't show a *net.TCPConn
// below them, are left alone.
//
// Without it, and without keepalive, what was sent and stays unacknowledged ends a connection
// after 20 s (gRFC A18), which costs nothing while it is idle; a peer that vanishes from an idle
// connection is noticed when something is sent, or by the system's own probes, on Linux after
// two hours.
func WithTCPProbes(cfg net.KeepAliveConfig) grpc.DialOption { return dialProbes{cfg: cfg} }

// TCPProbes is [WithTCPProbes] for the connections of a server, those of a wrapped listener too.
// Without it they have the probes that the listener gives them: package net's, by default after
// 15 s of silence and every 15 s.
func TCPProbes(cfg net.KeepAliveConfig) grpc.ServerOption { return serverProbes{cfg: &cfg} }

// These are known to package grpc by their methods.
type (
	dialStable struct {
		grpc.EmptyDialOption
		after time.Duration
	}
	dialResolve struct {
		grpc.EmptyDialOption
		every time.Duration
	}
	dialProbes struct {
		grpc.EmptyDialOption
		cfg net.KeepAliveConfig
	}
	serverProbes struct {
		grpc.EmptyServerOption
		cfg *net.KeepAliveConfig
	}
)

func (o dialStable) ChannelStableAfter() time.Duration    { return o.after }
func (o dialResolve) ChannelResolveEvery() time.Duration  { return o.every }
func (o dialProbes) ChannelProbes() net.KeepAliveConfig   { return o.cfg }
func (o serverProbes) ServerProbes() *net.KeepAliveConfig { return o.cfg }
