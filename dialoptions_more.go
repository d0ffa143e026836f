// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net"
	"net/url"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/transport"
)

// firstInterceptors are those that packages below experimental put before the program's.
type firstInterceptors struct {
	unary  []UnaryClientInterceptor
	stream []StreamClientInterceptor
}

func (f *firstInterceptors) prepend(o *dialOptions) {
	o.chainUnary = append(f.unary, o.chainUnary...)
	o.chainStream = append(f.stream, o.chainStream...)
}

// takeMore looks for the methods of options of packages below experimental.
func (o *dialOptions) takeMore(opt DialOption) {
	if p, ok := opt.(interface {
		FirstInterceptors() (UnaryClientInterceptor, StreamClientInterceptor)
	}); ok {
		unary, stream := p.FirstInterceptors()
		o.first.unary = append(o.first.unary, unary)
		o.first.stream = append(o.first.stream, stream)
	}
	if p, ok := opt.(interface{ ChannelStableAfter() time.Duration }); ok {
		o.StableAfter = p.ChannelStableAfter()
	}
	if p, ok := opt.(interface{ ChannelResolveEvery() time.Duration }); ok {
		o.ResolveEvery = p.ChannelResolveEvery()
	}
	if p, ok := opt.(interface {
		ChannelOnState(s connectivity.State, failure error)
	}); ok {
		o.addOnState(p.ChannelOnState)
	}
	if p, ok := opt.(interface {
		ChannelProxy() (proxy *url.URL, dial func(*url.URL, string) transport.DialFunc)
	}); ok {
		proxy, dial := p.ChannelProxy()
		o.proxyFor = func(*url.URL) (*url.URL, error) { return proxy, nil }
		o.proxyDialer = dial
	}
	// An option that is made for each channel.
	if p, ok := opt.(interface{ NextDialOption() DialOption }); ok {
		o.take(p.NextDialOption())
	}
	if p, ok := opt.(interface{ ChannelProbes() net.KeepAliveConfig }); ok {
		cfg := p.ChannelProbes()
		o.Transport.Probes = &cfg
	}
}

// addOnState has f told of states, after those that are told already.
func (o *dialOptions) addOnState(f func(connectivity.State, error)) {
	before := o.OnState
	o.OnState = func(s connectivity.State, failure error) {
		if before != nil {
			before(s, failure)
		}
		f(s, failure)
	}
}
