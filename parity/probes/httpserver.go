// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c" //nolint:staticcheck // programs have it

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// carrier is a server of package http that carries a gRPC server as its handler.
type carrier struct {
	name  string
	start func(*probe.P, http.Handler) (addr string, creds credentials.TransportCredentials)
}

// carry starts a gRPC server behind c, and a client of it.
func (c carrier) carry(p *probe.P, h rig.Handlers, opts ...grpc.ServerOption) *rig.Started {
	s := &rig.Started{Server: grpc.NewServer(opts...)}
	s.Server.RegisterService(h.Desc(), nil)
	p.Cleanup(s.Server.Stop)
	addr, creds := c.start(p, s.Server)
	cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = cc.Close() })
	s.ClientConn = cc
	return s
}

// carriers are those that are looked at.
var carriers = []carrier{
	{"h2c", func(p *probe.P, h http.Handler) (string, credentials.TransportCredentials) {
		h = h2c.NewHandler(h, &http2.Server{}) //nolint:staticcheck // programs have it
		return carry(p, &http.Server{Handler: h}, nil), insecure.NewCredentials()
	}},
	{"unencrypted", func(p *probe.P, h http.Handler) (string, credentials.TransportCredentials) {
		s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
		s.Protocols.SetUnencryptedHTTP2(true)
		return carry(p, s, nil), insecure.NewCredentials()
	}},
	{"TLS", func(p *probe.P, h http.Handler) (string, credentials.TransportCredentials) {
		cert, pool := rig.Certificate()
		return carry(p, &http.Server{Handler: h}, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}),
			credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"})
	}},
}

// carry runs s on a port of its own.
func carry(p *probe.P, s *http.Server, config *tls.Config) string {
	l := rig.Listen()
	p.Cleanup(func() { _ = s.Close() })
	if config != nil {
		s.TLSConfig = config
		go func() { _ = s.ServeTLS(l, "", "") }()
	} else {
		go func() { _ = s.Serve(l) }()
	}
	return l.Addr().String()
}

// carriedCalls are calls to a server that is carried.
var carriedCalls = []struct {
	name     string
	handlers rig.Handlers
	server   []grpc.ServerOption
	call     func(*probe.P, *rig.Started)
}{
	{name: "options", call: someCalls},
	{name: "context", handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		pr, there := peer.FromContext(ctx)
		method, _ := grpc.Method(ctx)
		_, deadline := ctx.Deadline()
		out := fmt.Sprintf("%v %T %v deadline=%v", there, pr.Addr, method, deadline)
		if pr.AuthInfo != nil {
			out += " " + pr.AuthInfo.AuthType()
		}
		md, _ := metadata.FromIncomingContext(ctx)
		return rig.M(out + " " + rig.MD(md)), nil
	}}, call: func(p *probe.P, s *rig.Started) {
		ctx := metadata.AppendToOutgoingContext(p.Context(), "a", "1", "a", "2", "a-bin", "\x00\x01")
		got, err := s.Call(ctx, "x")
		p.Printf("%s %s", strings.ReplaceAll(got, s.Target(), "TARGET"), rig.Err(err))
	}},
	{name: "status with details", handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1", "t-bin", "\x00"))
		s, _ := status.New(codes.NotFound, "n\nf é").WithDetails(rig.M("detail"))
		return nil, s.Err()
	}}, call: func(p *probe.P, s *rig.Started) {
		var header, trailer metadata.MD
		p.Printf("%s", call(p.Context(), s, grpc.Header(&header), grpc.Trailer(&trailer)))
		delete(header, "date")
		p.Printf("%s %s", rig.MD(header), rig.MD(trailer))
	}},
	{name: "headers and trailers", handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
		_ = s.SetHeader(metadata.Pairs("h", "1"))
		_ = s.SendHeader(metadata.Pairs("h", "2", "h-bin", "\x00\x01"))
		s.SetTrailer(metadata.Pairs("t", "1", "t", "2", "t-bin", "\x00\x01"))
		for s.RecvMsg(new(rig.Msg)) == nil {
		}
		return s.SendMsg(rig.M("reply"))
	}}, call: func(p *probe.P, s *rig.Started) {
		stream := bidi(p, s)
		md, err := stream.Header()
		delete(md, "date")
		p.Printf("%s %s", rig.MD(md), rig.Err(err))
		_ = stream.SendMsg(rig.M("x"))
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.MD(stream.Trailer()))
	}},
	{name: "deadline", handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, call: func(p *probe.P, s *rig.Started) {
		ctx, cancel := context.WithTimeout(p.Context(), time.Second)
		defer cancel()
		_, err := s.Call(ctx, "x")
		p.Printf("%v", status.Code(err))
	}},
	{name: "cancellation", handlers: rig.Handlers{}, call: func(p *probe.P, s *rig.Started) {
		ctx, cancel := context.WithCancel(p.Context())
		stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		if err != nil {
			panic(err)
		}
		_ = stream.SendMsg(rig.M("x"))
		_ = stream.RecvMsg(new(rig.Msg))
		cancel()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
	{name: "large messages", handlers: rig.Handlers{}, call: func(p *probe.P, s *rig.Started) {
		got, err := s.Call(p.Context(), strings.Repeat("x", 1<<20))
		p.Printf("%d %s", len(got), rig.Err(err))
	}},
	{name: "limits", server: []grpc.ServerOption{grpc.MaxRecvMsgSize(10), grpc.MaxSendMsgSize(8)}, call: func(p *probe.P, s *rig.Started) {
		for _, text := range []string{"x", "1234567", "12345678901"} {
			got, err := s.Call(p.Context(), text)
			p.Printf("%q %s", got, rig.Err(err))
		}
	}},
	{name: "compressed", call: func(p *probe.P, s *rig.Started) { unaryCall(grpc.UseCompressor("gzip"))(p, s) }},
	{name: "unknown service handler", server: []grpc.ServerOption{grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		return status.Error(codes.DataLoss, "unknown "+method)
	})}, call: func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/no.Such/No", rig.M("x"), new(rig.Msg))))
	}},
	{name: "interceptors", server: []grpc.ServerOption{
		grpc.UnaryInterceptor(func(ctx context.Context, req any, i *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			_, err := next(ctx, req)
			return rig.M("of " + i.FullMethod), err
		}),
		grpc.StreamInterceptor(func(_ any, _ grpc.ServerStream, i *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
			return status.Errorf(codes.Aborted, "%v %v %v", i.FullMethod, i.IsClientStream, i.IsServerStream)
		}),
	}, call: func(p *probe.P, s *rig.Started) {
		got, err := s.Call(p.Context(), "x")
		p.Printf("%s %s", got, rig.Err(err))
		p.Printf("%s", rig.Err(bidi(p, s).RecvMsg(new(rig.Msg))))
	}},
	{name: "authority", handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		return rig.M(fmt.Sprint(metadata.ValueFromIncomingContext(ctx, ":authority"), metadata.ValueFromIncomingContext(ctx, "host"))), nil
	}}, call: func(p *probe.P, s *rig.Started) {
		got, err := s.Call(p.Context(), "x", grpc.CallAuthority("probe.example"))
		p.Printf("%s %s", got, rig.Err(err))
	}},
	{name: "GracefulStop", call: func(p *probe.P, s *rig.Started) {
		p.Printf("%s", call(p.Context(), s))
		s.Server.GracefulStop()
		p.Printf("%s", call(p.Context(), s))
	}},
	{name: "Stop", call: func(p *probe.P, s *rig.Started) {
		p.Printf("%s", call(p.Context(), s))
		s.Server.Stop()
		p.Printf("%s", call(p.Context(), s))
	}},
	{name: "GracefulStop while a call runs", call: stopWhileCalled},
	{name: "handler that ends first", handlers: rig.Handlers{Stream: func(grpc.ServerStream) error { return status.Error(codes.Aborted, "early") }}, call: func(p *probe.P, s *rig.Started) {
		stream := bidi(p, s)
		for stream.SendMsg(rig.M("x")) == nil {
		}
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
	{name: "a handler's stream after its end", handlers: rig.Handlers{}, call: func(p *probe.P, s *rig.Started) {
		stream := bidi(p, s)
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.Err(stream.SendMsg(rig.M("x"))))
	}},
}

// stopWhileCalled has GracefulStop find a call.
func stopWhileCalled(p *probe.P, s *rig.Started) {
	stream := bidi(p, s)
	_ = stream.SendMsg(rig.M("x"))
	_ = stream.RecvMsg(new(rig.Msg))
	stopped := make(chan struct{})
	go func() { s.Server.GracefulStop(); close(stopped) }()
	select {
	case <-stopped:
		p.Printf("GracefulStop returns while a handler runs")
	case <-probe.Quiet(moment):
		p.Printf("GracefulStop waits for the handler")
	}
	_ = stream.CloseSend()
	for stream.RecvMsg(new(rig.Msg)) == nil {
	}
	<-stopped
}

func carrierProbes() []probe.Probe {
	var out []probe.Probe
	for _, carrier := range carriers {
		for _, c := range carriedCalls {
			out = append(out, probe.Probe{Name: "ServeHTTP behind " + carrier.name + "/" + c.name, Run: func(p *probe.P) {
				c.call(p, carrier.carry(p, c.handlers, c.server...))
			}})
		}
		out = append(out, probe.Probe{Name: "ServeHTTP behind " + carrier.name + "/events", Run: func(p *probe.P) {
			client, server := newRecorder(), newRecorder()
			gs := grpc.NewServer(grpc.StatsHandler(server))
			gs.RegisterService(rig.Handlers{}.Desc(), nil)
			addr, creds := carrier.start(p, gs)
			cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithStatsHandler(client))
			if err != nil {
				panic(err)
			}
			ctx := p.Context()
			cc.Connect()
			states(p, cc, connectivity.Ready)
			p.Printf("%s", call(ctx, cc))
			p.Printf("%s", rig.Err(cc.Invoke(ctx, "/no.Such/No", rig.M("x"), new(rig.Msg))))
			_ = cc.Close()
			gs.GracefulStop()
			server.print(p, "server")
			server.printConns(p)
		}})
	}
	return append(out, probe.Probe{Name: "ServeHTTP behind TLS/HTTP 1", Run: func(p *probe.P) {
		gs := grpc.NewServer()
		gs.RegisterService(rig.Handlers{}.Desc(), nil)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		s := &http.Server{Handler: gs}
		go func() { _ = s.Serve(l) }()
		p.Cleanup(func() { _ = s.Close() })
		for _, method := range []string{"GET", "POST"} {
			req, _ := http.NewRequestWithContext(p.Context(), method, "http://"+l.Addr().String()+rig.Unary, strings.NewReader("x"))
			req.Header.Set("Content-Type", "application/grpc")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				p.Printf("%s", rig.Err(err))
				continue
			}
			p.Printf("%s: %s %q", method, res.Status, res.Header["Content-Type"])
			_ = res.Body.Close()
		}
	}})
}
