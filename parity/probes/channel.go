// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// journal is a list of events that several goroutines write.
type journal struct {
	mu     sync.Mutex
	lines  []string
	change chan struct{}
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
	if j.change != nil {
		close(j.change)
		j.change = nil
	}
}

// wait waits until there are n lines, or a while.
func (j *journal) wait(p *probe.P, n int) {
	late := probe.Quiet(2 * time.Second)
	for {
		j.mu.Lock()
		if len(j.lines) >= n {
			j.mu.Unlock()
			return
		}
		if j.change == nil {
			j.change = make(chan struct{})
		}
		change := j.change
		j.mu.Unlock()
		select {
		case <-change:
		case <-late:
			p.Printf("only %d of %d events", len(j.lines), n)
			return
		}
	}
}

func (j *journal) print(p *probe.P) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		p.Printf("%s", l)
	}
}

// states prints the state that the channel is in once it has reached the last, or reaches it no more. Those
// before it are not printed: how long they last, and whether they are seen, is chance. What
// policies say one after the other, policyProbes print.
func states(p *probe.P, cc *grpc.ClientConn, last connectivity.State) {
	ctx, cancel := probe.WithTimeout(p.Context(), 2*time.Second)
	defer cancel()
	state := cc.GetState()
	for state != last && cc.WaitForStateChange(ctx, state) {
		state = cc.GetState()
	}
	p.Printf("state %v", state)
}

// quick is a back-off that a probe can wait for, and long enough for the process to be quiet in between.
var quick = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 150 * time.Millisecond, Multiplier: 1, MaxDelay: 150 * time.Millisecond}, MinConnectTimeout: time.Second,
})

// resolvers are what a resolver may do.
var resolverProbes = []probe.Probe{
	{Name: "resolver/no addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.InitialState(resolver.State{})
		p.Printf("%s", call(p.Context(), cc))
		states(p, cc, connectivity.TransientFailure)
		p.Printf("%v", r.CC().UpdateState(resolver.State{}))
	}},
	{Name: "resolver/no addresses, round_robin", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`))
		r.InitialState(resolver.State{})
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", r.CC().UpdateState(resolver.State{}))
		p.Printf("%v", r.CC().UpdateState(resolver.State{Endpoints: []resolver.Endpoint{{}}}))
	}},
	{Name: "resolver/empty lists, by steps", Run: func(p *probe.P) {
		none, good := resolver.State{}, addresses(server(p))
		for _, policy := range []string{"pick_first", "round_robin"} {
			for _, steps := range [][]resolver.State{{none, none}, {good, none}, {good, none, good, none}, {none, good, none}} {
				cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+policy+`":{}}]}`))
				r.InitialState(steps[0])
				said := fmt.Sprintf("%s: %s", policy, call(p.Context(), cc))
				for _, s := range steps[1:] {
					err := r.CC().UpdateState(s)
					said += fmt.Sprintf("; %v %s", err, call(p.Context(), cc))
				}
				p.Printf("%s", said)
				_ = cc.Close()
			}
		}
	}},
	{Name: "resolver/an endpoint without addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.InitialState(resolver.State{Endpoints: []resolver.Endpoint{{}}})
		ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
		defer cancel()
		p.Printf("%s", call(ctx, cc))
		p.Printf("%v", r.CC().UpdateState(resolver.State{Endpoints: []resolver.Endpoint{{}}}))
	}},
	{Name: "resolver/error first", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			rcc.ReportError(errors.New("resolver broke"))
		}
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/status error first", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			rcc.ReportError(status.Error(codes.PermissionDenied, "resolver denies"))
		}
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/error after addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		r.CC().ReportError(errors.New("resolver broke"))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/Build fails", Run: func(p *probe.P) {
		cc := channelTo(p, "say:///x", grpc.WithResolvers(sayResolver("me")))
		p.Printf("%s", call(p.Context(), cc))
		ctx, cancel := probe.WithTimeout(p.Context(), 100*time.Millisecond)
		defer cancel()
		p.Printf("%s", call(ctx, cc, grpc.WaitForReady(true)))
		p.Printf("state %v", cc.GetState())
	}},
	{Name: "resolver/ResolveNow in Build", Run: func(p *probe.P) {
		cc, r := manualChannel(p, quick)
		asked := make(chan struct{}, 100)
		r.ResolveNowCallback = func(resolver.ResolveNowOptions) { asked <- struct{}{} }
		r.InitialState(addresses("127.0.0.1:1"))
		p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
		select {
		case <-asked:
			p.Printf("ResolveNow")
		case <-probe.Quiet(2 * time.Second):
			p.Printf("no ResolveNow")
		}
	}},
	{Name: "resolver/ResolveNow after a lost connection", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		asked := make(chan struct{}, 100)
		r.ResolveNowCallback = func(resolver.ResolveNowOptions) { asked <- struct{}{} }
		s := rig.Pair{TCP: true}.Serve(p)
		r.InitialState(addresses(s.Listener.Addr().String()))
		p.Printf("%s", call(p.Context(), cc))
		s.Server.Stop()
		select {
		case <-asked:
			p.Printf("ResolveNow")
		case <-probe.Quiet(2 * time.Second):
			p.Printf("no ResolveNow")
		}
	}},
	{Name: "resolver/BuildOptions", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDisableServiceConfig(), grpc.WithUserAgent("ua"))
		told := make(chan string, 1)
		r.BuildCallback = func(t resolver.Target, _ resolver.ClientConn, o resolver.BuildOptions) {
			told <- fmt.Sprintf("%v disable=%v creds=%v bundle=%v dialer=%v authority=%q metrics=%v", t.String(), o.DisableServiceConfig, o.DialCreds != nil,
				o.CredsBundle != nil, o.Dialer != nil, o.Authority, o.MetricsRecorder != nil)
		}
		cc.Connect()
		p.Printf("%s", <-told)
		states(p, cc, connectivity.Connecting)
	}},
	{Name: "resolver/service config with an error", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		s := addresses(server(p))
		s.ServiceConfig = &serviceconfig.ParseResult{Err: errors.New("bad config")}
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", r.CC().UpdateState(s))
	}},
	{Name: "resolver/service config with an error beside errors", Run: func(p *probe.P) {
		good := addresses(server(p))
		bad := good
		bad.ServiceConfig = &serviceconfig.ParseResult{Err: errors.New("bad config")}
		for _, steps := range [][]bool{{true, false, true}, {false, true}} { // false stands for an error
			cc, r := manualChannel(p)
			built := make(chan struct{})
			r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { close(built) }
			cc.Connect()
			<-built
			for _, step := range steps {
				if !step {
					r.CC().ReportError(errors.New("resolver broke"))
					continue
				}
				err := r.CC().UpdateState(bad)
				p.Printf("%v: %v %v", steps, err, status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
			}
			err := r.CC().UpdateState(good)
			p.Printf("%v: then %v %s", steps, err, call(p.Context(), cc))
			_ = cc.Close()
		}
	}},
	{Name: "resolver/service config of a strange type", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		s := addresses(server(p))
		s.ServiceConfig = &serviceconfig.ParseResult{Config: strangeConfig{}}
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", r.CC().UpdateState(s))
	}},
	{Name: "resolver/error config after a good one", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		s := addresses(server(p))
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = r.CC().ParseServiceConfig(methodConfig(`"maxRequestMessageBytes":1`))
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = &serviceconfig.ParseResult{Err: errors.New("bad config")}
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = nil
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/no config after a good one", Run: func(p *probe.P) {
		for _, fallback := range []string{"", methodConfig(`"timeout":"100s"`)} {
			var opts []grpc.DialOption
			if fallback != "" {
				opts = append(opts, grpc.WithDefaultServiceConfig(fallback))
			}
			cc, r := manualChannel(p, opts...)
			s := addresses(server(p))
			r.InitialState(s)
			p.Printf("%s: %s", call(p.Context(), cc), methodConfigText(cc.GetMethodConfig(rig.Unary)))
			for _, config := range []*serviceconfig.ParseResult{
				r.CC().ParseServiceConfig(methodConfig(`"timeout":"5s"`)), nil,
				r.CC().ParseServiceConfig(`{}`), nil,
				{Err: errors.New("bad")},
				{},
			} {
				s.ServiceConfig = config
				err := r.CC().UpdateState(s)
				p.Printf("%v: %s", err, methodConfigText(cc.GetMethodConfig(rig.Unary)))
			}
		}
	}},
	{Name: "resolver/config is ignored", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDisableServiceConfig(), grpc.WithDefaultServiceConfig(methodConfig(`"maxRequestMessageBytes":2`)))
		s := addresses(server(p))
		r.InitialState(s)
		p.Printf("%s", call(p.Context(), cc))
		s.ServiceConfig = r.CC().ParseServiceConfig(methodConfig(`"maxRequestMessageBytes":1`))
		p.Printf("%v", r.CC().UpdateState(s))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/duplicate addresses", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		a := server(p)
		r.InitialState(addresses(a, a, a))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/NewAddress", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		a := server(p)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			rcc.NewAddress(addresses(a).Addresses)
		}
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "resolver/manual before Build", Run: func(p *probe.P) {
		r := manual.NewBuilderWithScheme("manual")
		rig.Try(p, "UpdateState", func() error { r.UpdateState(resolver.State{}); return nil })
		rig.Try(p, "CC", func() error { r.CC(); return nil })
	}},
	{Name: "resolver/Close on idle", Run: func(p *probe.P) {
		j := &journal{}
		cc, r := manualChannel(p)
		r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { j.add("Build") }
		r.CloseCallback = func() { j.add("Close") }
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		_ = cc.Close()
		j.wait(p, 2)
		j.print(p)
	}},
	{Name: "resolver/authority override", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			for {
				req, err := r.AcceptAll()
				if err != nil {
					return
				}
				r.Headers(req.ID, true, ok("grpc-status", "5", "grpc-message", req.Get(":authority")+" "+req.Get(":scheme"))...)
			}
		})
		for _, target := range []string{"over:///a/b c", "over://h:1/x:2"} {
			for _, opts := range [][]grpc.DialOption{nil, {grpc.WithAuthority("option")}} {
				cc := channelTo(p, target, append(opts, grpc.WithResolvers(overrider{addr}))...)
				p.Printf("%s %s", target, call(p.Context(), cc))
				p.Printf("%s %s", target, call(p.Context(), cc, grpc.CallAuthority("call")))
			}
		}
	}},
	{Name: "resolver/ServerName of an address", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			for {
				req, err := r.AcceptAll()
				if err != nil {
					return
				}
				r.Headers(req.ID, true, ok("grpc-status", "5", "grpc-message", req.Get(":authority"))...)
			}
		})
		for _, opts := range [][]grpc.DialOption{nil, {grpc.WithAuthority("option")}} {
			cc, r := manualChannel(p, opts...)
			r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: addr, ServerName: "of.address"}}})
			p.Printf("%s", call(p.Context(), cc))
		}
	}},
}

// overrider gives an authority of its own.
type overrider struct{ addr string }

func (o overrider) Build(_ resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	_ = cc.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: o.addr}}})
	return manual.NewBuilderWithScheme("x"), nil
}
func (overrider) Scheme() string                             { return "over" }
func (overrider) OverrideAuthority(t resolver.Target) string { return "override." + t.URL.Host }

type strangeConfig struct{ serviceconfig.Config }
