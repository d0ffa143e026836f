// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/grpclb" // named in service configs
	lbpb "google.golang.org/grpc/balancer/grpclb/grpc_lb_v1"
	"google.golang.org/grpc/balancer/grpclb/state"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// lbServer sends what it is told to each client, and then waits.
type lbServer struct {
	lbpb.UnimplementedLoadBalancerServer
	p    *probe.P
	says []*lbpb.LoadBalanceResponse
	end  error // in place of waiting
	name chan string
}

func (s *lbServer) BalanceLoad(stream grpc.BidiStreamingServer[lbpb.LoadBalanceRequest, lbpb.LoadBalanceResponse]) error {
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	select {
	case s.name <- fmt.Sprintf("%q by %s", r.GetInitialRequest().GetName(), agents(stream.Context())):
	default:
	}
	for _, m := range s.says {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	if s.end != nil {
		return s.end
	}
	<-stream.Context().Done()
	return nil
}

func lbInitial(d *durationpb.Duration) *lbpb.LoadBalanceResponse {
	return &lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_InitialResponse{
		InitialResponse: &lbpb.InitialLoadBalanceResponse{ClientStatsReportInterval: d},
	}}
}

func lbList(servers ...*lbpb.Server) *lbpb.LoadBalanceResponse {
	return &lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_ServerList{ServerList: &lbpb.ServerList{Servers: servers}}}
}

func lbFallback() *lbpb.LoadBalanceResponse {
	return &lbpb.LoadBalanceResponse{LoadBalanceResponseType: &lbpb.LoadBalanceResponse_FallbackResponse{FallbackResponse: &lbpb.FallbackResponse{}}}
}

// agents prints the user agent of a call.
func agents(ctx context.Context) string {
	return fmt.Sprintf("%q", metadata.ValueFromIncomingContext(ctx, "user-agent"))
}

// lbBackend answers with its name and the tokens that came with the call.
func lbBackend(p *probe.P, name string) *lbpb.Server {
	s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		return rig.M(name + fmt.Sprintf("%q", metadata.ValueFromIncomingContext(ctx, "lb-token"))), nil
	}}}.Serve(p)
	return &lbpb.Server{IpAddress: []byte{127, 0, 0, 1}, Port: int32(s.Listener.Addr().(*net.TCPAddr).Port)}
}

// says has a load balancer say something of two servers.
type says func(s *lbServer, a, b *lbpb.Server)

func grpclbProbe(name, config string, say says, opts ...grpc.DialOption) probe.Probe {
	return probe.Probe{Name: "grpclb/" + name, Run: func(p *probe.P) {
		a, b, fallback := lbBackend(p, "a"), lbBackend(p, "b"), lbBackend(p, "fallback")
		s := &lbServer{p: p, name: make(chan string, 1)}
		say(s, a, b)
		gs := grpc.NewServer()
		lbpb.RegisterLoadBalancerServer(gs, s)
		l := rig.Listen()
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		cc, r := manualChannel(p, append(opts, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[`+config+`]}`), quick)...)
		rs := addresses("127.0.0.1:" + strconv.Itoa(int(fallback.GetPort())))
		r.InitialState(state.Set(rs, &state.State{BalancerAddresses: []resolver.Address{{Addr: l.Addr().String(), ServerName: "lb.example"}}}))
		cc.Connect()
		select {
		case name := <-s.name:
			p.Printf("asked for %s", name)
		case <-probe.Quiet(2 * time.Second):
			p.Printf("not asked")
		}
		probe.Settle(0) // all that are to be connected are
		seen := make(map[string]bool)
		for range 6 {
			ctx, cancel := probe.WithTimeout(p.Context(), 500*time.Millisecond)
			end := call(ctx, cc)
			cancel()
			if !seen[end] {
				seen[end] = true
			}
			if strings.Contains(end, "DeadlineExceeded") {
				break
			}
		}
		printKeys(p, seen)
		_, waits, _ := strings.Cut(briefly(p, cc, grpc.WaitForReady(true)), " ") // without who answered
		p.Printf("waits: %s", waits)
	}}
}

// grpclbProbes have a load balancer say what it is told.
func grpclbProbes() []probe.Probe {
	initial := lbInitial(nil)
	list := func(f func(a, b *lbpb.Server) []*lbpb.Server) says {
		return func(s *lbServer, a, b *lbpb.Server) {
			s.says = []*lbpb.LoadBalanceResponse{initial, lbList(f(a, b)...)}
		}
	}
	var out []probe.Probe
	add := func(name, config string, say says) { out = append(out, grpclbProbe(name, config, say)) }
	const plain = `{"grpclb":{}}`
	one := func(f func(a *lbpb.Server)) says {
		return list(func(a, _ *lbpb.Server) []*lbpb.Server { f(a); return []*lbpb.Server{a} })
	}
	add("a server", plain, one(func(*lbpb.Server) {}))
	add("a server, pick_first", `{"grpclb":{"childPolicy":[{"pick_first":{}}]}}`, list(func(a, b *lbpb.Server) []*lbpb.Server { return []*lbpb.Server{a, b} }))
	add("a server, round_robin", `{"grpclb":{"childPolicy":[{"round_robin":{}}]}}`, list(func(a, b *lbpb.Server) []*lbpb.Server { return []*lbpb.Server{a, b} }))
	add("an unknown child", `{"grpclb":{"childPolicy":[{"nope":{}}]}}`, one(func(*lbpb.Server) {}))
	add("a service name", `{"grpclb":{"serviceName":"shop"}}`, one(func(*lbpb.Server) {}))
	add("a token", plain, one(func(a *lbpb.Server) { a.LoadBalanceToken = "t" }))
	add("a token that is long", plain, one(func(a *lbpb.Server) { a.LoadBalanceToken = strings.Repeat("t", 60) }))
	add("a token that is not ASCII", plain, one(func(a *lbpb.Server) { a.LoadBalanceToken = "ä" }))
	add("a server twice", plain, list(func(a, _ *lbpb.Server) []*lbpb.Server { return []*lbpb.Server{a, a} }))
	add("a server and one that is down", plain, list(func(a, _ *lbpb.Server) []*lbpb.Server {
		return []*lbpb.Server{{IpAddress: []byte{127, 0, 0, 1}, Port: 1}, a}
	}))
	add("a server that is down", plain, list(func(_, _ *lbpb.Server) []*lbpb.Server {
		return []*lbpb.Server{{IpAddress: []byte{127, 0, 0, 1}, Port: 1}}
	}))
	add("an address of 3 bytes", plain, one(func(a *lbpb.Server) { a.IpAddress = a.GetIpAddress()[:3] }))
	add("an address that is empty", plain, one(func(a *lbpb.Server) { a.IpAddress = nil }))
	add("an address of 16 bytes", plain, one(func(a *lbpb.Server) { a.IpAddress = net.IP(a.GetIpAddress()).To16() }))
	add("a port of 0", plain, one(func(a *lbpb.Server) { a.Port = 0 }))
	add("a port below 0", plain, one(func(a *lbpb.Server) { a.Port = -1 }))
	add("a port that is too large", plain, one(func(a *lbpb.Server) { a.Port = 70000 }))
	add("two servers", plain, list(func(a, b *lbpb.Server) []*lbpb.Server { return []*lbpb.Server{a, b} }))
	add("drops and a server", plain, list(func(a, _ *lbpb.Server) []*lbpb.Server { return []*lbpb.Server{{Drop: true}, a} }))
	add("drops alone", plain, list(func(_, _ *lbpb.Server) []*lbpb.Server { return []*lbpb.Server{{Drop: true}} }))
	add("a drop with an address", plain, one(func(a *lbpb.Server) { a.Drop = true }))
	add("an empty list", plain, list(func(_, _ *lbpb.Server) []*lbpb.Server { return nil }))
	add("fallback", plain, func(s *lbServer, _, _ *lbpb.Server) { s.says = []*lbpb.LoadBalanceResponse{initial, lbFallback()} })
	add("fallback after a server", plain, func(s *lbServer, a, _ *lbpb.Server) {
		s.says = []*lbpb.LoadBalanceResponse{initial, lbList(a), lbFallback()}
	})
	add("a list before the beginning", plain, func(s *lbServer, a, _ *lbpb.Server) { s.says = []*lbpb.LoadBalanceResponse{lbList(a), initial} })
	add("a beginning without a type", plain, func(s *lbServer, a, _ *lbpb.Server) {
		s.says = []*lbpb.LoadBalanceResponse{{}, lbList(a)}
	})
	add("a message without a type", plain, func(s *lbServer, a, _ *lbpb.Server) { s.says = []*lbpb.LoadBalanceResponse{initial, {}, lbList(a)} })
	add("two beginnings", plain, func(s *lbServer, a, _ *lbpb.Server) {
		s.says = []*lbpb.LoadBalanceResponse{initial, initial, lbList(a)}
	})
	add("reports each -1", plain, func(s *lbServer, a, _ *lbpb.Server) {
		s.says = []*lbpb.LoadBalanceResponse{lbInitial(&durationpb.Duration{Seconds: -1}), lbList(a)}
	})
	out = append(out, grpclbProbe("a user agent", plain, one(func(*lbpb.Server) {}), grpc.WithUserAgent("mine")),
		grpclbProbe("an empty user agent", plain, one(func(*lbpb.Server) {}), grpc.WithUserAgent("")))
	add("an end", plain, func(s *lbServer, _, _ *lbpb.Server) { s.end = status.Error(codes.Internal, "x") })
	add("not implemented", plain, func(s *lbServer, _, _ *lbpb.Server) { s.end = status.Error(codes.Unimplemented, "x") })
	return out
}
