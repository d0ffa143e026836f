// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// What a channel decides for an address, an attempt or an RPC must not be what it decided for the
// first of them. Probes of scopes have two servers that differ, or RPCs that do.

// scope is a channel to two servers, which note the requests that they see.
type scope struct {
	*grpc.ClientConn
	mu       sync.Mutex
	requests []string
	uris     []string // that credentials were asked for
	alike    bool     // which server is which is not told: chance decides who is asked first
}

func (s *scope) note(list *[]string, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, line)
}

// GetRequestMetadata implements credentials.PerRPCCredentials: the token says what it is for.
func (s *scope) GetRequestMetadata(_ context.Context, uri ...string) (map[string]string, error) {
	s.note(&s.uris, strings.Join(uri, " "))
	return map[string]string{"token": strings.Join(uri, " ")}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (*scope) RequireTransportSecurity() bool { return false }

// fieldsOf are those of a request that tell for whom it was made.
var fieldsOf = []string{
	":authority", "token", "content-type", "grpc-encoding", "grpc-accept-encoding", "grpc-previous-rpc-attempts", "user-agent", "k", "k-bin", "picked",
}

// serve starts a server that notes requests, and answers as it is told, the first time and later.
func (s *scope) serve(p *probe.P, name string, settings []http2.Setting, first, later answer) string {
	n := 0
	return rig.RawServerSettings(p, settings, func(r *rig.Raw) {
		for {
			req, err := r.AcceptAll()
			if err != nil {
				return
			}
			line := name
			for _, f := range fieldsOf {
				if v := req.Get(f); v != "" {
					line += fmt.Sprintf(" %s=%.40s", f, v)
				}
			}
			if req.Get("grpc-timeout") != "" {
				line += " timeout"
			}
			if s.alike {
				line = strings.NewReplacer("name.of."+name, "its.name", "name.of.", "another.name.").Replace(strings.TrimPrefix(line, name))
			}
			s.note(&s.requests, line)
			if n++; n == 1 {
				first.do(r, req)
			} else {
				later.do(r, req)
			}
		}
	})
}

var (
	answered200 = answer{"OK", full(ok(), reply, "grpc-status", "0")}
	answered14  = answer{"UNAVAILABLE", headers(true, ok("grpc-status", "14")...)}
)

// print prints what was noted. Which server comes first is chance.
func (s *scope) print(p *probe.P) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.requests)
	for _, r := range s.requests {
		p.Printf("%s", r)
	}
	slices.Sort(s.uris)
	if s.alike {
		p.Printf("%d credentials", len(s.uris))
		return
	}
	p.Printf("credentials for %q", s.uris)
}

// calls makes some RPCs one after the other, and counts how they end.
func (s *scope) calls(ctx context.Context, p *probe.P, n int, opts ...grpc.CallOption) {
	ends := make(map[codes.Code]int)
	for range n {
		ends[status.Code(s.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), opts...))]++
	}
	p.Printf("%v", ends)
}

// bothReady is a round_robin channel to addresses, each of which is ready.
func (s *scope) bothReady(p *probe.P, config string, list []resolver.Address, opts ...grpc.DialOption) {
	opts = append(opts, grpc.WithPerRPCCredentials(s), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]`+config+`}`))
	cc, r := manualChannel(p, opts...)
	s.ClientConn = cc
	r.InitialState(resolver.State{Addresses: list})
	cc.Connect()
	probe.Settle(moment)
}

const retrying = `,"methodConfig":[{"name":[{}],"retryPolicy":{` + goodRetry + `}}]`

// scopeList collects probes of scopes.
type scopeList []probe.Probe

func (l *scopeList) add(name string, run func(p *probe.P, s *scope)) {
	*l = append(*l, probe.Probe{Name: "scope/" + name, Run: func(p *probe.P) {
		s := &scope{}
		run(p, s)
		s.print(p)
	}})
}

func scopeProbes() []probe.Probe {
	return slices.Concat(addressScopes(), serverScopes(), callScopes(), bundleScopes())
}

// addressScopes are of addresses and attempts.
func addressScopes() (out scopeList) {
	two := out.add
	for _, authority := range []string{"", "of.channel"} {
		var opts []grpc.DialOption
		if authority != "" {
			opts = append(opts, grpc.WithAuthority(authority))
		}
		two(fmt.Sprintf("server names of addresses, authority %q", authority), func(p *probe.P, s *scope) {
			s.bothReady(p, "", []resolver.Address{
				{Addr: s.serve(p, "a", nil, answered200, answered200), ServerName: "name.of.a"},
				{Addr: s.serve(p, "b", nil, answered200, answered200), ServerName: "name.of.b"},
			}, opts...)
			s.calls(p.Context(), p, 4)
			s.calls(p.Context(), p, 2, grpc.CallAuthority("of.call"))
		})
	}
	two("attempts at two servers", func(p *probe.P, s *scope) {
		s.alike = true
		s.bothReady(p, retrying, []resolver.Address{
			{Addr: s.serve(p, "a", nil, answered14, answered200), ServerName: "name.of.a"},
			{Addr: s.serve(p, "b", nil, answered14, answered200), ServerName: "name.of.b"},
		})
		s.calls(p.Context(), p, 1, grpc.UseCompressor("gzip"))
	})
	two("attempts of two RPCs", func(p *probe.P, s *scope) {
		s.bothReady(p, retrying, []resolver.Address{{Addr: s.serve(p, "a", nil, answered14, answered200)}})
		s.calls(metadata.AppendToOutgoingContext(p.Context(), "k", "first", "k-bin", "\x01"), p, 1)
		s.calls(metadata.AppendToOutgoingContext(p.Context(), "k", "second"), p, 1, grpc.CallContentSubtype("proto"))
	})
	return out
}

// serverScopes are of servers that differ.
func serverScopes() (out scopeList) {
	two := out.add
	for _, small := range []http2.Setting{
		{ID: http2.SettingMaxHeaderListSize, Val: 500},
		{ID: http2.SettingHeaderTableSize, Val: 0},
		{ID: http2.SettingMaxFrameSize, Val: 1 << 14},
	} {
		two(fmt.Sprintf("one server with %v", small.ID), func(p *probe.P, s *scope) {
			s.bothReady(p, "", []resolver.Address{
				{Addr: s.serve(p, "a", []http2.Setting{small}, answered200, answered200)},
				{Addr: s.serve(p, "b", nil, answered200, answered200)},
			})
			s.calls(metadata.AppendToOutgoingContext(p.Context(), "k", strings.Repeat("v", 1000)), p, 6)
		})
	}
	two("one server that takes no streams", func(p *probe.P, s *scope) {
		s.bothReady(p, "", []resolver.Address{
			{Addr: s.serve(p, "a", []http2.Setting{{ID: http2.SettingMaxConcurrentStreams}}, answered200, answered200)},
			{Addr: s.serve(p, "b", nil, answered200, answered200)},
		})
		ctx, cancel := context.WithCancel(p.Context())
		var wg sync.WaitGroup
		ended := make(chan codes.Code, 6)
		for range 6 {
			wg.Go(func() { ended <- status.Code(s.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg))) })
		}
		probe.Settle(moment)
		n := len(ended) // which of them a connection gets that comes up beside is chance
		p.Printf("some have ended: %v, some wait: %v", n > 0, n < cap(ended))
		cancel()
		wg.Wait()
		s.requests, s.uris = nil, nil
	})
	return out
}

// callScopes are of RPCs that differ.
func callScopes() (out scopeList) {
	two := out.add
	two("options of calls", func(p *probe.P, s *scope) {
		s.bothReady(p, "", []resolver.Address{{Addr: s.serve(p, "a", nil, answered200, answered200)}}, grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")))
		s.calls(p.Context(), p, 1)
		s.calls(p.Context(), p, 1, grpc.UseCompressor("identity"))
		s.calls(p.Context(), p, 1, grpc.CallContentSubtype("PROTO"))
		s.calls(p.Context(), p, 1, grpc.CallAuthority("a.call"))
		s.calls(p.Context(), p, 1, grpc.PerRPCCredentials(stumblingCreds{err: nil}))
		s.calls(p.Context(), p, 1, grpc.MaxCallRecvMsgSize(0))
		s.calls(p.Context(), p, 1, grpc.MaxCallSendMsgSize(0))
		s.calls(p.Context(), p, 1)
	})
	two("configs of methods", func(p *probe.P, s *scope) {
		s.bothReady(p, `,"methodConfig":[{"name":[{"service":"probe.Probe","method":"Unary"}],"timeout":"100s","maxResponseMessageBytes":1},{"name":[{"service":"probe.Probe"}],"waitForReady":true}]`,
			[]resolver.Address{{Addr: s.serve(p, "a", nil, answered200, answered200)}})
		for _, method := range []string{rig.Unary, rig.Bidi, "/other.Service/M", rig.Unary} {
			ctx, cancel := context.WithCancel(context.Background())
			p.Printf("%s: %v", method, status.Code(s.Invoke(ctx, method, rig.M("q"), new(rig.Msg))))
			cancel()
		}
	})
	two("a change of the service config", func(p *probe.P, s *scope) {
		cc, r := manualChannel(p, grpc.WithPerRPCCredentials(s))
		s.ClientConn = cc
		list := []resolver.Address{{Addr: s.serve(p, "a", nil, answered200, answered200)}}
		for _, config := range []string{
			`{"methodConfig":[{"name":[{}],"timeout":"100s"}]}`, `{}`, `{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":0}]}`, `{"loadBalancingConfig":[{"round_robin":{}}]}`,
		} {
			state := resolver.State{Addresses: list}
			if r.CC() == nil {
				state.ServiceConfig = nil
				r.InitialState(state)
				cc.Connect()
				probe.Settle(0)
			}
			state.ServiceConfig = r.CC().ParseServiceConfig(config)
			p.Printf("%v", r.CC().UpdateState(state))
			s.calls(context.Background(), p, 1)
		}
	})
	return out
}
