// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"sync/atomic"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// xdsRetries have retry policies for a host and for its route (A44), and a server that always fails.
func xdsRetries() []probe.Probe {
	unavailable := &routev3.RetryPolicy{RetryOn: "unavailable", NumRetries: wrapperspb.UInt32(2)}
	unknown := &routev3.RetryPolicy{RetryOn: "5xx"}
	return []probe.Probe{
		{Name: "retries/of the host", Run: xdsRetry(unavailable, nil)},
		{Name: "retries/of the host, and of the unknown", Run: xdsRetry(unavailable, unknown)},
		{Name: "retries/of the host, and of nothing", Run: xdsRetry(unavailable, &routev3.RetryPolicy{})},
		{Name: "retries/of the route", Run: xdsRetry(unknown, unavailable)},
	}
}

func xdsRetry(host, route *routev3.RetryPolicy) func(*probe.P) {
	return func(p *probe.P) {
		var attempts atomic.Int64
		l := rig.Listen()
		gs := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			attempts.Add(1)
			return status.Error(codes.Unavailable, "no")
		}))
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		s := newXDSState(p)
		s.endpoints[0] = plane.Endpoints("a", plane.Locality("z", 0, uint32(l.Addr().(*net.TCPAddr).Port)))
		s.host().RetryPolicy = host
		actionOf(s).RetryPolicy = route
		control := plane.Start(p, s.all()...)
		cc := xdsChannel(p, control)
		end := callOf(p.Context(), cc, "/a/b")
		p.Printf("%s: %s, %d attempts", control.Verdict(p, "RouteConfiguration"), end, attempts.Load())
	}
}
