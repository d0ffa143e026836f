// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// healthy is a server with the health service, and a channel to it.
func healthy(p *probe.P, hs healthpb.HealthServer, opts ...grpc.DialOption) *grpc.ClientConn {
	gs := grpc.NewServer()
	gs.RegisterService(rig.Handlers{}.Desc(), nil)
	if hs != nil {
		healthpb.RegisterHealthServer(gs, hs)
	}
	l := rig.Listen()
	go func() { _ = gs.Serve(l) }()
	p.Cleanup(gs.Stop)
	cc, r := manualChannel(p, append(opts, quick)...)
	r.InitialState(resolver.State{Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: l.Addr().String()}}}}})
	return cc
}

// ownHealth answers Watch as it is told.
type ownHealth struct {
	healthpb.UnimplementedHealthServer
	watch func(healthpb.Health_WatchServer) error
}

func (h ownHealth) Watch(_ *healthpb.HealthCheckRequest, s healthpb.Health_WatchServer) error {
	return h.watch(s)
}

func say(s healthpb.Health_WatchServer, status healthpb.HealthCheckResponse_ServingStatus) {
	_ = s.Send(&healthpb.HealthCheckResponse{Status: status})
}

// watched are ways in which a server answers the health checks of channels.
var watched = []struct {
	name  string
	watch func(healthpb.Health_WatchServer) error
}{
	{"serving", func(s healthpb.Health_WatchServer) error {
		say(s, healthpb.HealthCheckResponse_SERVING)
		<-s.Context().Done()
		return nil
	}},
	{"unknown", func(s healthpb.Health_WatchServer) error {
		say(s, healthpb.HealthCheckResponse_UNKNOWN)
		<-s.Context().Done()
		return nil
	}},
	{"service unknown", func(s healthpb.Health_WatchServer) error {
		say(s, healthpb.HealthCheckResponse_SERVICE_UNKNOWN)
		<-s.Context().Done()
		return nil
	}},
	{"status 99", func(s healthpb.Health_WatchServer) error {
		say(s, 99)
		<-s.Context().Done()
		return nil
	}},
	{"serving, then not", func(s healthpb.Health_WatchServer) error {
		say(s, healthpb.HealthCheckResponse_SERVING)
		say(s, healthpb.HealthCheckResponse_NOT_SERVING)
		<-s.Context().Done()
		return nil
	}},
	{"not serving, then serving", func(s healthpb.Health_WatchServer) error {
		say(s, healthpb.HealthCheckResponse_NOT_SERVING)
		say(s, healthpb.HealthCheckResponse_SERVING)
		<-s.Context().Done()
		return nil
	}},
	{"unimplemented", func(healthpb.Health_WatchServer) error { return status.Error(codes.Unimplemented, "none") }},
	{"not found", func(healthpb.Health_WatchServer) error { return status.Error(codes.NotFound, "none") }},
	{"serving, then unimplemented", func(s healthpb.Health_WatchServer) error {
		say(s, healthpb.HealthCheckResponse_SERVING)
		return status.Error(codes.Unimplemented, "none any more")
	}},
	{"end at once", func(healthpb.Health_WatchServer) error { return nil }},
}

func healthProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range watched {
		for _, policy := range []string{"round_robin", "pick_first"} {
			out = append(out, probe.Probe{Name: "health of a channel/" + c.name + ", " + policy, Run: func(p *probe.P) {
				asked := make(chan struct{}, 100)
				cc := healthy(p, ownHealth{watch: func(s healthpb.Health_WatchServer) error {
					asked <- struct{}{}
					return c.watch(s)
				}}, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+policy+`":{}}],"healthCheckConfig":{"serviceName":"x"}}`))
				if policy == "round_robin" {
					cc.Connect()
					<-asked
					probe.Settle(30 * time.Millisecond) // what it says may still be on its way
				}
				ctx, cancel := probe.WithTimeout(p.Context(), 500*time.Millisecond)
				defer cancel()
				p.Printf("%s", call(ctx, cc))
				p.Printf("%v asked %v", cc.GetState() == connectivity.Ready, len(asked) > 0)
			}})
		}
	}
	for _, config := range []string{`"x"`, `{}`, `{"serviceName":""}`, `{"serviceName":1}`, `{"serviceName":"x","more":1}`, `null`, `[]`} {
		out = append(out, probe.Probe{Name: "health of a channel/config " + config, Run: func(p *probe.P) {
			cc := dialOrSay(p, "passthrough:///127.0.0.1:1", grpc.WithInsecure(),
				grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":`+config+`}`))
			p.Printf("%v", cc != nil)
		}})
	}
	return append(out, otherHealthProbes...)
}

var otherHealthProbes = []probe.Probe{
	{Name: "health of a channel/switched off", Run: func(p *probe.P) {
		asked := false
		cc := healthy(p, ownHealth{watch: func(healthpb.Health_WatchServer) error { asked = true; return nil }}, grpc.WithDisableHealthCheck(),
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"x"}}`))
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", asked)
	}},
	{Name: "health service/Check over the wire", Run: func(p *probe.P) {
		hs := health.NewServer()
		c := healthpb.NewHealthClient(healthy(p, hs))
		check := func(name string) {
			r, err := c.Check(p.Context(), &healthpb.HealthCheckRequest{Service: name})
			p.Printf("%q: %v %s", name, r.GetStatus(), rig.Err(err))
		}
		check("")
		check("x")
		for _, s := range []healthpb.HealthCheckResponse_ServingStatus{0, 1, 2, 3, 99} {
			hs.SetServingStatus("x", s)
			check("x")
		}
		hs.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
		check("")
	}},
	{Name: "health service/List", Run: func(p *probe.P) {
		for _, n := range []int{0, 1, 99, 100, 101} {
			hs := health.NewServer()
			for i := range n {
				hs.SetServingStatus(fmt.Sprint("s", i), healthpb.HealthCheckResponse_NOT_SERVING)
			}
			l, err := healthpb.NewHealthClient(healthy(p, hs)).List(p.Context(), &healthpb.HealthListRequest{})
			var names []string
			for name, s := range l.GetStatuses() {
				if len(l.GetStatuses()) < 5 {
					names = append(names, fmt.Sprintf("%q %v", name, s.GetStatus()))
				}
			}
			slices.Sort(names)
			p.Printf("%d: %d %s %s", n, len(l.GetStatuses()), strings.Join(names, " "), rig.Err(err))
		}
	}},
	{Name: "health service/two watchers", Run: func(p *probe.P) {
		hs := health.NewServer()
		c := healthpb.NewHealthClient(healthy(p, hs))
		one, err := c.Watch(p.Context(), &healthpb.HealthCheckRequest{Service: "x"})
		p.Printf("%s", rig.Err(err))
		two, _ := c.Watch(p.Context(), &healthpb.HealthCheckRequest{Service: "x"})
		for _, w := range []healthpb.Health_WatchClient{one, two} {
			r, err := w.Recv()
			p.Printf("%v %s", r.GetStatus(), rig.Err(err))
		}
		hs.SetServingStatus("x", healthpb.HealthCheckResponse_NOT_SERVING)
		for _, w := range []healthpb.Health_WatchClient{two, one} {
			r, err := w.Recv()
			p.Printf("%v %s", r.GetStatus(), rig.Err(err))
		}
	}},
	{Name: "health service/Watch and its end", Run: func(p *probe.P) {
		hs := health.NewServer()
		c := healthpb.NewHealthClient(healthy(p, hs))
		ctx, cancel := context.WithCancel(p.Context())
		w, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
		p.Printf("%s", rig.Err(err))
		r, err := w.Recv()
		p.Printf("%v %s", r.GetStatus(), rig.Err(err))
		hs.Shutdown()
		r, err = w.Recv()
		p.Printf("%v %s", r.GetStatus(), rig.Err(err))
		cancel()
		_, err = w.Recv()
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "health service/none", Run: func(p *probe.P) {
		c := healthpb.NewHealthClient(healthy(p, nil))
		_, err := c.Check(p.Context(), &healthpb.HealthCheckRequest{})
		p.Printf("%s", rig.Err(err))
		w, err := c.Watch(p.Context(), &healthpb.HealthCheckRequest{})
		p.Printf("%s", rig.Err(err))
		_, err = w.Recv()
		p.Printf("%s", rig.Err(err))
		_, err = c.List(p.Context(), &healthpb.HealthListRequest{})
		p.Printf("%s", rig.Err(err))
	}},
}
