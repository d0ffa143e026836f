// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// keys tells what a context has under the keys that programs know.
func keys(ctx context.Context) string {
	var list []string
	has := func(what string, is bool) {
		if is {
			list = append(list, what)
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		auth := "none"
		if p.AuthInfo != nil {
			auth = p.AuthInfo.AuthType()
		}
		has(fmt.Sprintf("peer(addr=%v local=%v auth=%s)", p.Addr != nil, p.LocalAddr != nil, auth), true)
	}
	in, ok := metadata.FromIncomingContext(ctx)
	has(fmt.Sprintf("in%v", rig.MD(in)), ok)
	out, ok := metadata.FromOutgoingContext(ctx)
	has(fmt.Sprintf("out%v", rig.MD(out)), ok)
	method, ok := grpc.Method(ctx)
	has("method="+method, ok)
	has("serverstream", grpc.ServerTransportStreamFromContext(ctx) != nil)
	if info, ok := credentials.RequestInfoFromContext(ctx); ok {
		has(fmt.Sprintf("request(%s %T)", info.Method, info.AuthInfo), true)
	}
	has("handshake", credentials.ClientHandshakeInfoFromContext(ctx).Attributes != nil)
	_, ok = ctx.Deadline()
	has("deadline", ok)
	has(fmt.Sprintf("tags=%q", stats.Tags(ctx)), stats.Tags(ctx) != nil)
	has(fmt.Sprintf("trace=%q", stats.Trace(ctx)), stats.Trace(ctx) != nil)
	has(fmt.Sprintf("value=%v", ctx.Value(tagKey{})), ctx.Value(tagKey{}) != nil)
	names, err := grpc.ClientSupportedCompressors(ctx)
	has(fmt.Sprintf("compressors=%v", names), err == nil)
	return strings.Join(list, " ")
}

// contextLog keeps a line for each callback, in the order of the names: the callbacks' own
// order is that of other probes.
type contextLog struct {
	mu    sync.Mutex
	lines map[string]string
}

func (l *contextLog) note(ctx context.Context, name string) {
	line := keys(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = make(map[string]string)
	}
	if _, there := l.lines[name]; there {
		return
	}
	l.lines[name] = line
}

func (l *contextLog) print(p *probe.P, names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range names {
		line, ok := l.lines[n]
		if !ok {
			line = "(not called)"
		}
		p.Printf("%s: %s", n, line)
	}
}

// contextStats is the stats handler of one side.
type contextStats struct {
	side string
	l    *contextLog
}

func (h contextStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	h.l.note(ctx, h.side+" TagConn")
	return context.WithValue(ctx, tagKey{}, h.side+" conn")
}

func (h contextStats) HandleConn(ctx context.Context, s stats.ConnStats) {
	h.l.note(ctx, fmt.Sprintf("%s %s", h.side, strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats.")))
}

func (h contextStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	h.l.note(ctx, h.side+" TagRPC")
	return context.WithValue(ctx, tagKey{}, h.side+" rpc")
}

func (h contextStats) HandleRPC(ctx context.Context, s stats.RPCStats) {
	h.l.note(ctx, fmt.Sprintf("%s %s", h.side, strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats.")))
}

// contextCreds are per-RPC credentials, and those of the transport.
type contextCreds struct {
	credentials.TransportCredentials
	name string
	l    *contextLog
}

func (c contextCreds) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	c.l.note(ctx, "GetRequestMetadata of the "+c.name)
	return map[string]string{c.name: "secret"}, nil
}

func (contextCreds) RequireTransportSecurity() bool { return false }

func (c contextCreds) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.l.note(ctx, "ClientHandshake")
	return c.TransportCredentials.ClientHandshake(ctx, authority, conn)
}

func (c contextCreds) Clone() credentials.TransportCredentials {
	c.TransportCredentials = c.TransportCredentials.Clone()
	return c
}

// contextPicker is the builder of a balancer whose picker looks at its context.
type contextPicker struct {
	l  *contextLog
	sc balancer.SubConn
}

func (b contextPicker) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc := range info.ReadySCs {
		b.sc = sc
		return b
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

func (b contextPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	b.l.note(info.Ctx, "Pick")
	return balancer.PickResult{SubConn: b.sc, Metadata: metadata.Pairs("picked", "1")}, nil
}

// allCallbacks are the names in the order that they are printed in.
var allCallbacks = []string{
	"unary interceptor of the client", "stream interceptor of the client", "client TagConn", "client ConnBegin", "client ConnEnd",
	"dialer", "ClientHandshake", "client TagRPC", "client Begin", "Pick", "GetRequestMetadata of the channel",
	"GetRequestMetadata of the call", "client OutHeader", "client OutPayload", "client InHeader", "client InPayload", "client InTrailer", "client End",
	"Context of the stream", "server TagConn", "server ConnBegin", "tap", "server TagRPC", "server InHeader", "server Begin", "server InPayload",
	"interceptor of the server", "handler", "server OutHeader", "server OutPayload", "server OutTrailer", "server End", "server ConnEnd",
}

func contextProbes() []probe.Probe {
	var out []probe.Probe
	for _, kind := range []string{"unary", "stream"} {
		for _, peered := range []bool{false, true} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("contexts of all callbacks/%s, peer of the caller %v", kind, peered), Alone: true, Run: func(p *probe.P) {
				l := &contextLog{}
				s := contextPair(p, l)
				ctx := metadata.AppendToOutgoingContext(p.Context(), "k", "v", "k-bin", "\x01")
				ctx = context.WithValue(stats.SetTags(ctx, []byte("t")), tagKey{}, "caller")
				if peered {
					ctx = peer.NewContext(ctx, &peer.Peer{})
				}
				opts := []grpc.CallOption{grpc.PerRPCCredentials(contextCreds{name: "call", l: l}), grpc.WaitForReady(true), grpc.UseCompressor(gzip.Name)}
				if kind == "unary" {
					got, err := s.Call(ctx, "x", opts...)
					p.Printf("%q %s", got, rig.Err(err))
				} else {
					contextStream(ctx, p, s, l, opts)
				}
				_ = s.Close()
				s.Server.GracefulStop()
				l.print(p, allCallbacks...)
			}})
		}
	}
	return out
}

// contextPair is a client and a server all of whose callbacks look at their contexts.
func contextPair(p *probe.P, l *contextLog) *rig.Started {
	balancer.Register(base.NewBalancerBuilder("contexts", contextPicker{l: l}, base.Config{}))
	s := rig.Pair{
		TCP: true, Secure: true,
		Handlers: rig.Handlers{
			Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				l.note(ctx, "handler")
				return m, nil
			},
			Stream: func(s grpc.ServerStream) error {
				l.note(s.Context(), "handler")
				m := new(rig.Msg)
				if err := s.RecvMsg(m); err != nil {
					return err
				}
				return s.SendMsg(m)
			},
		},
		Server: []grpc.ServerOption{
			grpc.Creds(insecure.NewCredentials()),
			grpc.StatsHandler(contextStats{"server", l}),
			grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
				l.note(ctx, "tap")
				return ctx, nil
			}),
			grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				l.note(ctx, "interceptor of the server")
				return next(ctx, req)
			}),
			grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
				l.note(ss.Context(), "interceptor of the server")
				return next(srv, ss)
			}),
		},
	}.Serve(p)
	creds := contextCreds{TransportCredentials: insecure.NewCredentials(), name: "channel", l: l}
	cc, r := manualChannel(
		p, grpc.WithTransportCredentials(creds), grpc.WithPerRPCCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"contexts":{}}]}`),
		grpc.WithStatsHandler(contextStats{"client", l}),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			l.note(ctx, "dialer")
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			l.note(ctx, "unary interceptor of the client")
			return next(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			l.note(ctx, "stream interceptor of the client")
			return next(ctx, desc, cc, method, opts...)
		}),
	)
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: s.Listener.Addr().String(), Attributes: attributes.New("k", "v")}}})
	s.ClientConn = cc
	return s
}

func contextStream(ctx context.Context, p *probe.P, s *rig.Started, l *contextLog, opts []grpc.CallOption) {
	stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi, opts...)
	if err != nil {
		p.Printf("%s", rig.Err(err))
		return
	}
	_ = stream.SendMsg(rig.M("x"))
	_ = stream.CloseSend()
	m := new(rig.Msg)
	p.Printf("%s %q", rig.Err(stream.RecvMsg(m)), m.GetValue())
	l.note(stream.Context(), "Context of the stream")
	p.Printf("%s", rig.Err(stream.RecvMsg(m)))
}

// exitProbes have handlers that do not return.
func exitProbes() []probe.Probe {
	exit := rig.Handlers{
		Unary:  func(context.Context, *rig.Msg) (*rig.Msg, error) { runtime.Goexit(); return nil, nil },
		Stream: func(grpc.ServerStream) error { runtime.Goexit(); return nil },
	}
	var out []probe.Probe
	for _, method := range []string{rig.Unary, rig.Bidi} {
		out = append(out, probe.Probe{Name: "handler that exits/" + method, Run: func(p *probe.P) {
			server := newRecorder()
			s := rig.Pair{TCP: true, Handlers: exit, Server: []grpc.ServerOption{grpc.StatsHandler(server)}}.Start(p)
			s.Ready(p)
			ctx, cancel := context.WithCancel(p.Context())
			go func() { _ = s.Invoke(ctx, method, rig.M("x"), new(rig.Msg)) }()
			select {
			case <-server.ends:
			case <-p.Context().Done():
				p.Printf("no end")
			}
			cancel()
			server.print(p, "server")
		}})
	}
	return out
}

// silentProbes have servers that close a connection before their SETTINGS.
var silentProbes = []probe.Probe{{Name: "connection closed before SETTINGS", Run: func(p *probe.P) {
	addr := rig.ConnServer(p, func(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, 24)) })
	client := newRecorder()
	cc := channelTo(p, addr, grpc.WithStatsHandler(client))
	p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
	_ = cc.Close()
	eventually(p, "the end", func() bool {
		client.mu.Lock()
		defer client.mu.Unlock()
		return len(client.conns) >= 3
	})
	client.mu.Lock()
	defer client.mu.Unlock()
	p.Printf("%q", client.conns[:min(3, len(client.conns))])
}}}
