// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"
)

// contextStats is the stats handler of one side.
type contextStats struct {
	side string
	l    *contextLog
}

func (h contextStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	h.l.note(ctx, h.side+" TagConn")
	return context.WithValue(ctx, connKey{}, h.side)
}

func (h contextStats) HandleConn(ctx context.Context, s stats.ConnStats) {
	h.l.note(ctx, fmt.Sprintf("%s %s", h.side, strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats.")))
}

func (h contextStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	h.l.note(ctx, h.side+" TagRPC")
	return context.WithValue(ctx, rpcKey{}, h.side)
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

// contextPicker looks at its context. It finds the log of its probe in the address.
type contextPicker struct {
	l  *contextLog
	sc balancer.SubConn
}

func init() {
	balancer.Register(base.NewBalancerBuilder("probe_contexts", contextPicker{}, base.Config{}))
}

func (b contextPicker) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc, i := range info.ReadySCs {
		b.sc, b.l = sc, i.Address.BalancerAttributes.Value(callerKey{}).(*contextLog)
		return b
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

func (b contextPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	b.l.note(info.Ctx, "Pick")
	return balancer.PickResult{SubConn: b.sc, Metadata: metadata.Pairs("picked", "1")}, nil
}

// serve starts the server of a variant, and returns where it is.
func (v contextVariant) serve(p *probe.P, l *contextLog, opts []grpc.ServerOption) (s *rig.Started, addr string, creds credentials.TransportCredentials) {
	refused := &refusals{left: v.refusals}
	handlers := rig.Handlers{
		Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			l.note(ctx, "handler")
			return m, v.answer(refused)
		},
		Stream: func(s grpc.ServerStream) error {
			l.note(s.Context(), "handler")
			m := new(rig.Msg)
			if err := s.RecvMsg(m); err != nil {
				return err
			}
			if err := v.answer(refused); err != nil {
				return err
			}
			return s.SendMsg(m)
		},
	}
	opts = append(opts, grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		l.note(s.Context(), "handler of unknown methods")
		m := new(rig.Msg)
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		return s.SendMsg(m)
	}))
	if v.carried {
		s = &rig.Started{Server: grpc.NewServer(opts...)}
		s.Server.RegisterService(handlers.Desc(), nil)
		p.Cleanup(s.Server.Stop)
		carrier := carriers[1]
		if v.secure {
			carrier = carriers[2]
		}
		addr, creds = carrier.start(p, http.Handler(s.Server))
		return s, addr, creds
	}
	creds = insecure.NewCredentials()
	if v.secure {
		cert, pool := rig.Certificate()
		opts = append(opts, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
		creds = credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"})
	}
	s = rig.Pair{TCP: true, Secure: true, Handlers: handlers, Server: opts}.Serve(p)
	return s, s.Listener.Addr().String(), creds
}

// pair is a client and a server all of whose callbacks look at their contexts.
func (v contextVariant) pair(p *probe.P, l *contextLog) *rig.Started {
	s, addr, transport := v.serve(p, l, []grpc.ServerOption{
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
	})
	creds := contextCreds{TransportCredentials: transport, name: "channel", l: l}
	cc, r := manualChannel(
		p, grpc.WithTransportCredentials(creds), grpc.WithPerRPCCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"probe_contexts":{}}],"methodConfig":[{"name":[{}],"retryPolicy":{`+goodRetry+`}}]}`),
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
	r.InitialState(resolver.State{Addresses: []resolver.Address{{
		Addr: addr, Attributes: attributes.New("k", "v"), BalancerAttributes: attributes.New(callerKey{}, l),
	}}})
	s.ClientConn = cc
	return s
}
