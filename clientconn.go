// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/resolver/scheme"
)

var (
	// ErrClientConnClosing is what RPCs fail with whose ClientConn is closed.
	//
	// Deprecated: this error should not be relied upon by users; use the status
	// code Canceled.
	ErrClientConnClosing = channel.ErrClosing

	// ErrClientConnTimeout was once the error of a Dial that took too long.
	//
	// Deprecated: nothing returns it.
	ErrClientConnTimeout = errors.New("grpc: timed out when dialing")
)

// ClientConnInterface is what generated clients need. [ClientConn] is one.
type ClientConnInterface interface {
	// Invoke performs a unary RPC and returns when it is over.
	Invoke(ctx context.Context, method string, args any, reply any, opts ...CallOption) error
	// NewStream begins a streaming RPC.
	NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error)
}

// ClientConn is a channel: a target, and the connections to the servers behind it that
// its balancer wants. It is made by [NewClient] and has to be closed. It is safe for
// concurrent use.
//
// A channel begins idle. The first RPC, or Connect, has its target resolved and
// connections made.
type ClientConn struct {
	opts    *channelOptions // immutable
	channel channel.Channel
	streams streamList
	unwatch func() // ends what recorders were promised; nil without
}

// NewClient makes a channel for a target, such as "dns:///host:443", "unix:path" or
// "host:443", which means the first (naming.md). It does not connect: the first RPC
// does, or Connect.
//
// An error says that the target or the options are of no use.
func NewClient(target string, opts ...DialOption) (conn *ClientConn, err error) {
	o := newDialOptions(opts)
	return newChannel(target, scheme.DNS, &o)
}

func newChannel(target, defaultScheme string, o *dialOptions) (*ClientConn, error) {
	if err := o.checkCredentials(); err != nil {
		return nil, err
	}
	to, err := channel.FindTarget(target, scheme.Or(defaultScheme), o.resolvers)
	if err != nil {
		return nil, err
	}
	if err := to.SettleAuthority(o.authority, o.Creds); err != nil {
		return nil, err
	}
	if err := o.settleProxy(&to); err != nil {
		return nil, err
	}
	if err := o.settleServiceConfig(); err != nil {
		return nil, err
	}
	o.settleTransport()
	o.settleTelemetry(&to)
	o.settleInterceptors()
	cc := &ClientConn{opts: shareOptions(&o.channelOptions)}
	cc.unwatch = footprint.Register(cc.opts.Transport.StatsHandlers, cc.opts.telemetry.Recorders()...)
	parent, _ := o.channelz.(*channelz.Node)
	cc.channel.Init(to, &cc.opts.Options, (*channelOwner)(cc), parent)
	return cc, nil
}

// Target returns the target as it was given.
func (cc *ClientConn) Target() string { return cc.channel.Name }

// CanonicalTarget returns the target in full, "scheme://authority/endpoint".
func (cc *ClientConn) CanonicalTarget() string { return cc.channel.CanonicalTarget() }

// GetState returns the channel's connectivity state. It does not make an idle channel
// connect.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) GetState() connectivity.State { return cc.channel.State() }

// WaitForStateChange waits until the state is another than sourceState and returns
// true, or false if ctx ends first.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) WaitForStateChange(ctx context.Context, sourceState connectivity.State) bool {
	return cc.channel.WaitForStateChange(ctx, sourceState)
}

// Connect makes an idle channel connect, without waiting for it. Others take no notice.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) Connect() { cc.channel.Connect() }

// ResetConnectBackoff makes every subchannel that waits after a failure try again at
// once, and the pauses begin anew. It is for when the network is known to be back.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) ResetConnectBackoff() { cc.channel.ResetConnectBackoff() }

// Close ends the channel at once: RPCs that are open fail with codes.Canceled, as do
// those to come. It returns once the balancer has been closed, so a balancer must not
// call it. It fails if the channel is closed already.
func (cc *ClientConn) Close() error {
	if !cc.channel.Close() {
		return ErrClientConnClosing
	}
	cc.streams.cancelAll()
	if cc.unwatch != nil {
		cc.unwatch()
	}
	cc.channel.Node().Close()
	return nil
}
