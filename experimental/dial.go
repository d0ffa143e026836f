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
// xDS, and for connections of custom dialers, such as bufconn's; ResetConnectBackoff ends a pause. RPCs
// that are under way when the connection is lost fail, or are retried and hedged, as ever; interceptors
// see nothing of it.
func WithStableAfter(d time.Duration) grpc.DialOption { return dialStable{after: d} }

// WithResolveInterval has the channel ask its resolver to look again about every d, between 0.8 and
// 1.2 times that, so that new servers are found although nothing has failed. By default, and with
// d <= 0, it is asked when a connection is lost or can't be made.
//
// The resolver for dns looks no more often than every 30 s, whatever d is, and a resolver that
// pushes what changes (xDS) need not be asked. A channel that is idle has no resolver, and asks
// nothing. An answer that is the same leaves the connections as they are; pick_first and all
// others keep those connections whose addresses are still there. RPCs, with their interceptors, retries
// and hedges, are not concerned; an address of scheme passthrough, as tests with bufconn have, is never
// asked about.
//
// It is an option, and no field of service configs: these come from the resolver itself, and whoever
// writes a record in DNS should not decide how often all clients ask for it.
func WithResolveInterval(d time.Duration) grpc.DialOption { return dialResolve{every: d} }

// WithTCPProbes has the operating system probe the connections of a channel as cfg says, those of a
// custom dialer too: a server that has vanished without a word is noticed while nothing is
// sent to it, and without keepalive pings, which servers may refuse. It costs a packet for each
// interval, which wakes no process. Connections that are not TCP, or don't show a *net.TCPConn
// below them (bufconn, unix sockets), are left alone. Parked connections are probed as all others.
//
// The connection is lost when cfg.Count probes in a row stay unanswered, cfg.Idle + cfg.Count *
// cfg.Interval after the server was last heard of, and what was sent and stays unacknowledged ends it
// after half an interval less (TCP_USER_TIMEOUT). RPCs fail with code Unavailable then, and are
// retried as after any other loss. A Timeout that grpc.WithKeepaliveParams gives stands in place of
// that bound; on Linux it then holds for probes, too, and Count does not.
//
// Without it, and without keepalive, a client notices that its server has vanished when the
// system gives up what was sent, on Linux after about 15 minutes, as with the published module; servers
// notice that a client has vanished when what they sent stays unacknowledged for 20 s (gRFC A18).
// From an idle connection a server that vanishes is noticed by the system's own probes, on Linux after
// two hours; a custom dialer may have others, or none. Connections to control planes of xDS are of
// other channels, and don't have the option.
func WithTCPProbes(cfg net.KeepAliveConfig) grpc.DialOption { return dialProbes{cfg: cfg} }

// TCPProbes is [WithTCPProbes] for the connections of a server, those of a wrapped listener too.
// Without it they have the probes that the listener gives them: package net's, by default after
// 15 s of silence and every 15 s. Behind ServeHTTP connections are net/http's, and have no option. With
// a server of package xds, give it to xds.NewGRPCServer.
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
