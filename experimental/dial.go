// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"net"
	"time"

	"google.golang.org/grpc"
)

// WithStableAfter returns a DialOption that makes a connection count as a failed attempt if it is lost
// within d of having been made. The subchannel is then in TRANSIENT_FAILURE for the pause that the
// back-off makes after that many failures in a row, and RPCs that do not wait for ready fail with code
// Unavailable meanwhile. A connection that lives longer than d ends the back-off. Ten seconds are a
// reasonable d.
//
// By default, and with d <= 0, each connection that is made ends the back-off, as in the published
// module. So a server, or a load balancer without servers, that accepts connections, speaks HTTP/2
// and closes them is dialed hundreds of times a second while there are RPCs. The price of the
// option is the first pause, a second by default, after a connection was lost early by chance.
//
// It does not matter why the connection is lost: GOAWAY counts too. A connection that is added to
// others of its subchannel (gRFC A105) does not count. The option works with all balancers, with xDS,
// and for connections of custom dialers, such as bufconn's; ResetConnectBackoff ends a pause. RPCs
// that are under way when the connection is lost fail, or are retried and hedged, as without the option;
// interceptors do not notice it.
func WithStableAfter(d time.Duration) grpc.DialOption { return dialStable{after: d} }

// WithResolveInterval returns a DialOption that makes the channel ask its resolver to look again about
// every d, at intervals between 0.8 d and 1.2 d, so that it finds new servers although nothing has
// failed. By default, and with d <= 0, the channel asks when a connection is lost or can't be made.
//
// The resolver for dns looks at most every 30 s, whatever d is. A resolver that pushes changes (xDS)
// need not be asked. A channel that is idle has no resolver, and asks nothing. An answer that is the same
// leaves the connections as they are. If an answer differs, pick_first and all other policies keep the
// connections whose addresses are still in it. RPCs, with their interceptors, retries and hedges, are not
// affected. The channel never asks about an address of scheme passthrough, as tests with bufconn have.
//
// It is an option, and not a field of service configs, because these come from the resolver itself: the
// author of a DNS record should not decide how often all clients ask for it.
func WithResolveInterval(d time.Duration) grpc.DialOption { return dialResolve{every: d} }

// WithTCPProbes returns a DialOption that makes the operating system probe the channel's connections as
// cfg says, including those of a custom dialer. The channel then notices a server that has vanished
// without a word even while it sends nothing, and without keepalive pings, which servers may refuse. It
// costs a packet for each interval, which wakes no process. Connections that are not TCP, or don't show
// a *net.TCPConn below them (bufconn, unix sockets), are not probed. Parked connections are probed
// as all others. cfg.Enable must be true: otherwise the option switches probes off. An Idle, Interval or
// Count of 0 means what it means to package net: 15 s, 15 s and 9.
//
// The connection is lost when cfg.Count probes in a row stay unanswered, which is cfg.Idle + cfg.Count *
// cfg.Interval after the server was last heard of. Data that stays unacknowledged ends the connection
// half an interval before that time has passed (TCP_USER_TIMEOUT). RPCs then fail with code
// Unavailable, and are retried as after any other loss. A Timeout that grpc.WithKeepaliveParams gives
// replaces that bound for data; on Linux it then holds for probes too, and Count does not.
//
// Without this option, and without keepalive, a client notices that its server has vanished when the
// system gives up sending data, on Linux after about 15 minutes, as with the published module. Servers
// notice that a client has vanished when data stays unacknowledged for 20 s (gRFC A18). On an idle
// connection the system's own probes notice that a server has vanished, on Linux after two hours; a
// custom dialer may set up others, or none. Connections to control planes of xDS belong to other
// channels, which don't have the option.
func WithTCPProbes(cfg net.KeepAliveConfig) grpc.DialOption { return dialProbes{cfg: cfg} }

// TCPProbes does for the connections of a server, including those of a wrapped listener, what
// [WithTCPProbes] does for a channel's. Without it connections have the probes that the listener sets
// up: those of package net begin by default after 15 s of silence, and follow every 15 s. Behind
// ServeHTTP connections belong to net/http, and the option does not apply. With a server of package
// xds, pass it to xds.NewGRPCServer.
func TCPProbes(cfg net.KeepAliveConfig) grpc.ServerOption { return serverProbes{cfg: &cfg} }

// Package grpc recognises these options by their methods.
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
