// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// manualChannel is a channel whose addresses the probe gives.
func manualChannel(p *probe.P, opts ...grpc.DialOption) (*grpc.ClientConn, *manual.Resolver) {
	r := manual.NewBuilderWithScheme("manual")
	return channelTo(p, "manual:///x", append(opts, grpc.WithResolvers(r))...), r
}

func addresses(addrs ...string) resolver.State {
	var s resolver.State
	for _, a := range addrs {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	return s
}

// call is a call on a bare channel.
func call(ctx context.Context, cc grpc.ClientConnInterface, opts ...grpc.CallOption) string {
	out := new(rig.Msg)
	err := cc.Invoke(ctx, rig.Unary, rig.M("q"), out, opts...)
	return fmt.Sprintf("%q %s", out.GetValue(), rig.Err(err))
}

func server(p *probe.P) string { return rig.Pair{TCP: true}.Serve(p).Listener.Addr().String() }
