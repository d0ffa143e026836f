// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/resolver/scheme"
)

// NewClient makes a channel for a target, such as "dns:///host:443", "unix:path" or
// "host:443", which means the first (naming.md). It does not connect: the first RPC
// does, or Connect.
//
// An error says that the target or the options can't be used.
func NewClient(target string, opts ...DialOption) (conn *ClientConn, err error) {
	o := newDialOptions(withGlobalOptions(opts))
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
