// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// tlsPair is a server with a certificate and a channel that trusts it.
func tlsPair(p *probe.P, change func(*tls.Config), opts ...grpc.DialOption) *rig.Started {
	cert, pool := rig.Certificate()
	config := &tls.Config{RootCAs: pool, ServerName: "probe.example"}
	if change != nil {
		change(config)
	}
	return rig.Pair{
		TCP: true, Secure: true,
		Server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&cert))},
		Dial:   append([]grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(config))}, opts...),
		Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
			pr, _ := peer.FromContext(ctx)
			return rig.M(authText(pr.AuthInfo)), nil
		}},
	}.Start(p)
}

// plainTLSServer starts a server whose listener, and not gRPC, does TLS: it has the ALPN that the configuration has.
func plainTLSServer(p *probe.P, config *tls.Config) *net.TCPAddr {
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	s.RegisterService(rig.Handlers{}.Desc(), nil)
	go func() { _ = s.Serve(l) }()
	p.Cleanup(s.Stop)
	return l.Addr().(*net.TCPAddr)
}

func authText(a credentials.AuthInfo) string {
	if a == nil {
		return "nil"
	}
	out := fmt.Sprintf("%T %s", a, a.AuthType())
	if c, is := a.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); is {
		out += " " + c.GetCommonAuthInfo().SecurityLevel.String()
	}
	if t, is := a.(credentials.TLSInfo); is {
		out += fmt.Sprintf(" alpn=%q certs=%d spiffe=%v", t.State.NegotiatedProtocol, len(t.State.PeerCertificates), t.SPIFFEID)
	}
	return out
}

// securePeer is a call whose peer is printed.
func securePeer(p *probe.P, s *rig.Started, opts ...grpc.CallOption) {
	var pr peer.Peer
	p.Printf("%s", call(p.Context(), s, append(opts, grpc.Peer(&pr))...))
	p.Printf("peer %s", authText(pr.AuthInfo))
}

var securityProbes = []probe.Probe{
	{Name: "TLS", Run: func(p *probe.P) { securePeer(p, tlsPair(p, nil)) }},
	{Name: "TLS wrong name", Run: func(p *probe.P) {
		securePeer(p, tlsPair(p, func(c *tls.Config) { c.ServerName = "other.example" }))
	}},
	{Name: "TLS no name", Run: func(p *probe.P) {
		securePeer(p, tlsPair(p, func(c *tls.Config) { c.ServerName = "" }))
	}},
	{Name: "TLS authority", Run: func(p *probe.P) {
		securePeer(p, tlsPair(p, func(c *tls.Config) { c.ServerName = "" }, grpc.WithAuthority("probe.example")))
	}},
	{Name: "TLS authority and name", Run: func(p *probe.P) {
		cc := dialOrSay(p, "127.0.0.1:1", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{ServerName: "a"})), grpc.WithAuthority("b"))
		p.Printf("%v", cc != nil)
	}},
	{Name: "TLS unknown CA", Run: func(p *probe.P) {
		securePeer(p, tlsPair(p, func(c *tls.Config) { c.RootCAs = nil }))
	}},
	{Name: "TLS call authority", Run: func(p *probe.P) {
		s := tlsPair(p, nil)
		securePeer(p, s, grpc.CallAuthority("probe.example"))
		securePeer(p, s, grpc.CallAuthority("other.example"))
	}},
	{Name: "TLS call authority unverified", Run: func(p *probe.P) {
		s := tlsPair(p, func(c *tls.Config) { c.InsecureSkipVerify = true })
		securePeer(p, s, grpc.CallAuthority("other.example"))
	}},
	{Name: "TLS per-RPC credentials", Run: func(p *probe.P) {
		s := tlsPair(p, nil, grpc.WithPerRPCCredentials(token{secure: true}))
		securePeer(p, s, grpc.PerRPCCredentials(token{secure: true, md: map[string]string{"a": "b"}}))
	}},
	{Name: "TLS to plaintext", Run: func(p *probe.P) {
		_, pool := rig.Certificate()
		cc := channelTo(p, server(p), grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "")))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "plaintext to TLS", Run: func(p *probe.P) {
		s := tlsPair(p, nil)
		err := channelTo(p, s.Listener.Addr().String()).Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))
		p.Printf("%v", status.Code(err))
	}},
	{Name: "TLS without ALPN", Run: func(p *probe.P) {
		cert, pool := rig.Certificate()
		addr := plainTLSServer(p, &tls.Config{Certificates: []tls.Certificate{cert}})
		cc := channelTo(p, addr.String(), grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "probe.example")))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "TLS without ALPN, allowed", Env: []string{"GRPC_ENFORCE_ALPN_ENABLED=false"}, Run: func(p *probe.P) {
		cert, pool := rig.Certificate()
		addr := plainTLSServer(p, &tls.Config{Certificates: []tls.Certificate{cert}})
		cc := channelTo(p, addr.String(), grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "probe.example")))
		p.Printf("%s", call(p.Context(), cc))
	}},
	{Name: "TLS client certificate missing", Run: func(p *probe.P) {
		cert, pool := rig.Certificate()
		s := rig.Pair{TCP: true, Secure: true, Server: []grpc.ServerOption{grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		}))}, Dial: []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "probe.example"))}}.Start(p)
		p.Printf("%v", status.Code(s.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
	}},
	{Name: "local TCP", Run: func(p *probe.P) {
		s := rig.Pair{
			TCP: true, Secure: true, Server: []grpc.ServerOption{grpc.Creds(local.NewCredentials())},
			Dial: []grpc.DialOption{grpc.WithTransportCredentials(local.NewCredentials())},
		}.Start(p)
		securePeer(p, s)
		p.Printf("%+v", local.NewCredentials().Info())
	}},
	{Name: "local TCP, secure token", Run: func(p *probe.P) {
		s := rig.Pair{
			TCP: true, Secure: true, Server: []grpc.ServerOption{grpc.Creds(local.NewCredentials())},
			Dial: []grpc.DialOption{grpc.WithTransportCredentials(local.NewCredentials()), grpc.WithPerRPCCredentials(token{secure: true})},
		}.Start(p)
		securePeer(p, s)
		s = rig.Pair{
			TCP: true, Secure: true, Server: []grpc.ServerOption{grpc.Creds(local.NewCredentials())},
			Dial: []grpc.DialOption{grpc.WithTransportCredentials(local.NewCredentials())},
		}.Start(p)
		securePeer(p, s, grpc.PerRPCCredentials(token{secure: true}))
	}},
	{Name: "local over another network", Run: func(p *probe.P) {
		s := rig.Pair{Secure: true, Dial: []grpc.DialOption{grpc.WithTransportCredentials(local.NewCredentials())}}.Start(p)
		securePeer(p, s)
	}},
	{Name: "server handshake fails", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.Creds(serverCreds{insecure.NewCredentials(), errors.New("no")})}}.Start(p)
		p.Printf("%v", status.Code(s.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
	}},
	{Name: "server dispatches the connection", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.Creds(serverCreds{insecure.NewCredentials(), credentials.ErrConnDispatched})}}.Serve(p)
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		b := make([]byte, 1)
		_, err = conn.Read(b)
		p.Printf("%q %v", b, err)
	}},
	{Name: "what credentials are told", Run: func(p *probe.P) {
		told := make(chan string, 10)
		s := rig.Pair{TCP: true, Secure: true, Dial: []grpc.DialOption{
			grpc.WithTransportCredentials(tellingCreds{insecure.NewCredentials(), told}),
			grpc.WithAuthority("auth.example:99"),
			grpc.WithPerRPCCredentials(tellingToken{told}),
		}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		p.Printf("%s", <-told)
		p.Printf("%s", <-told)
	}},
	{Name: "handshake returns a status", Run: func(p *probe.P) {
		for _, c := range []codes.Code{codes.Unauthenticated, codes.NotFound, codes.PermissionDenied} {
			cc := channelTo(p, server(p), grpc.WithTransportCredentials(statusCreds{insecure.NewCredentials(), c}))
			p.Printf("%s", call(p.Context(), cc))
		}
	}},
	{Name: "handshake returns no auth info", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Secure: true, Dial: []grpc.DialOption{grpc.WithTransportCredentials(nilInfoCreds{insecure.NewCredentials()})}}.Start(p)
		securePeer(p, s)
	}},
}

type serverCreds struct {
	credentials.TransportCredentials
	err error
}

func (c serverCreds) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if c.err == credentials.ErrConnDispatched {
		go func() {
			_, _ = conn.Write([]byte("D"))
			_ = conn.Close()
		}()
	}
	return nil, nil, c.err
}
func (c serverCreds) Clone() credentials.TransportCredentials { return c }

type tellingCreds struct {
	credentials.TransportCredentials
	told chan string
}

func (c tellingCreds) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	_, deadline := ctx.Deadline()
	c.told <- fmt.Sprintf("%q deadline=%v attributes=%v", authority, deadline, credentials.ClientHandshakeInfoFromContext(ctx).Attributes)
	return c.TransportCredentials.ClientHandshake(ctx, authority, conn)
}
func (c tellingCreds) Clone() credentials.TransportCredentials { return c }

type tellingToken struct{ told chan string }

func (t tellingToken) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	ri, found := credentials.RequestInfoFromContext(ctx)
	t.told <- fmt.Sprintf("%q %v %s %s", uri, found, ri.Method, authText(ri.AuthInfo))
	return nil, nil
}
func (tellingToken) RequireTransportSecurity() bool { return false }

type statusCreds struct {
	credentials.TransportCredentials
	code codes.Code
}

func (c statusCreds) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, status.Error(c.code, "of the handshake")
}
func (c statusCreds) Clone() credentials.TransportCredentials { return c }

type nilInfoCreds struct {
	credentials.TransportCredentials
}

func (c nilInfoCreds) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, nil, nil
}
func (c nilInfoCreds) Clone() credentials.TransportCredentials { return c }
