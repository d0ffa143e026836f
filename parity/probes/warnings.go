// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// warned is what the log has at the levels WARNING and ERROR.
type warned struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *warned) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// newWarned has package grpclog write to a warned. The process is the probe's own.
func newWarned() *warned {
	w := &warned{}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, w, io.Discard))
	return w
}

// print prints the lines since the last time, from where a part of them begins, as what stands before it differs.
func (w *warned) print(p *probe.P, part string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.text.String()) {
		if _, rest, ok := strings.Cut(line, part); ok {
			p.Printf("%s%s", part, strings.TrimRight(rest, "\n"))
		}
	}
	w.text.Reset()
}

// has says whether a line has part in it.
func (w *warned) has(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.text.String(), part)
}

// warningProbes are about lines of the log that operators and their alerts look for.
var warningProbes = []probe.Probe{
	{Name: "warnings/a dialer fails", Alone: true, Run: func(p *probe.P) {
		w := newWarned()
		r := manual.NewBuilderWithScheme("warned")
		r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "a", ServerName: "of.a"}, {Addr: "b"}}})
		cc := channelTo(p, "warned:///x", grpc.WithResolvers(r), grpc.WithContextDialer(func(_ context.Context, addr string) (net.Conn, error) {
			return nil, errors.New("no way to " + addr)
		}))
		p.Printf("%s", call(p.Context(), cc))
		w.print(p, "grpc: addrConn.createTransport failed")
	}},
	{Name: "warnings/a dialer fails, authority", Alone: true, Run: func(p *probe.P) {
		w := newWarned()
		r := manual.NewBuilderWithScheme("warned")
		r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "a", ServerName: "of.a"}}})
		cc := channelTo(p, "warned:///x", grpc.WithResolvers(r), grpc.WithAuthority("named"), grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("no way")
		}))
		p.Printf("%s", call(p.Context(), cc))
		w.print(p, "grpc: addrConn.createTransport failed")
	}},
	{Name: "warnings/a resolver fails", Alone: true, Run: func(p *probe.P) {
		w := newWarned()
		r := manual.NewBuilderWithScheme("warned")
		cc := channelTo(p, "warned:///x", grpc.WithResolvers(r))
		cc.Connect()
		r.CC().ReportError(errors.New("the names are gone"))
		p.Printf("%s", call(p.Context(), cc))
		w.print(p, "ccResolverWrapper: reporting error to cc")
	}},
	{Name: "warnings/keepalive times", Alone: true, Run: func(p *probe.P) {
		w := newWarned()
		for _, d := range []time.Duration{-1, 0, 1, time.Second - 1, time.Second, 10*time.Second - 1, 10 * time.Second, math.MaxInt64} {
			p.Printf("%v", d)
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: d})
			w.print(p, "Adjusting keepalive")
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: d})
			w.print(p, "Adjusting keepalive")
		}
	}},
	{Name: "warnings/no health service", Alone: true, Run: func(p *probe.P) {
		w := newWarned()
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"x"}}`)}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		probe.Settle(time.Second)
		p.Printf("%v", w.has("ERROR: [health_service] Subchannel health check is unimplemented at server side, thus health check is disabled for SubConn"))
	}},
	{Name: "ServeHTTP without http.Flusher", Run: func(p *probe.P) {
		s := grpc.NewServer()
		defer s.Stop()
		r := httptest.NewRequest(http.MethodPost, "/probe.Probe/Unary", nil)
		r.ProtoMajor, r.ProtoMinor = 2, 0
		r.Header.Set("Content-Type", "application/grpc")
		rec := httptest.NewRecorder()
		s.ServeHTTP(struct{ http.ResponseWriter }{rec}, r)
		p.Printf("%d %q", rec.Code, rec.Body.String())
	}},
}
