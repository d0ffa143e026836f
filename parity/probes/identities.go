// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
)

// spiffeIDs are URIs of a certificate that may be taken for SPIFFE IDs.
var spiffeIDs = []string{
	"spiffe://td.example/a", "spiffe://td.example", "spiffe://td.example/", "spiffe://td.example/a/", "spiffe://td.example/a//b",
	"spiffe://td.example/a/../b", "spiffe://td.example/.", "spiffe://td.example/a%20b", "spiffe://TD.example/a", "spiffe://td.example:80/a",
	"spiffe://td!x/a", "spiffe://td.example/a?q", "spiffe://td.example/a#f", "spiffe://u@td.example/a", "SPIFFE://td.example/a", "spiffe:td.example/a",
	"https://td.example/a", "spiffe:///a", "spiffe://" + strings.Repeat("a", 256) + "/a", "spiffe://td.example/" + strings.Repeat("a", 2048),
}

// networkAddrs are of connections that may be local.
var networkAddrs = []networkAddr{
	{"pipe", `\\.\pipe\x`},
	{"pipe", "pipe"},
	{"pipe", `\\server\pipe\x`},
	{"unix", "@"},
	{"unix", ""},
	{"unixgram", "x"},
	{"unixpacket", "x"},
	{"tcp", "127.0.0.1:1"},
	{"tcp", "127.1.2.3:1"},
	{"tcp4", "127.0.0.1:1"},
	{"tcp6", "[::1]:1"},
	{"tcp", "[::ffff:127.0.0.1]:1"},
	{"tcp", "localhost:1"},
	{"tcp", "10.0.0.1:1"},
	{"tcp", ""},
	{"udp", "127.0.0.1:1"},
	{"vsock", "local:1"},
	{"bufconn", "bufconn"},
	{"", "127.0.0.1:1"},
}

// identityProbes are of whom a connection is with, and of what credentials say of a program.
func identityProbes() []probe.Probe {
	return []probe.Probe{
		{Name: "SPIFFE IDs", Run: func(p *probe.P) {
			for _, id := range spiffeIDs {
				uri, err := url.Parse(id)
				if err != nil {
					panic(err)
				}
				cert, pool := rig.CertificateWith(func(c *x509.Certificate) { c.URIs = []*url.URL{uri} })
				s := rig.Pair{
					TCP: true, Secure: true, Server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&cert))},
					Dial: []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"}))},
				}.Start(p)
				p.Printf("%.40s", id)
				securePeer(p, s)
			}
		}},
		{Name: "no auth info, secure token of the channel", Run: func(p *probe.P) {
			s := rig.Pair{TCP: true, Secure: true, Dial: []grpc.DialOption{
				grpc.WithTransportCredentials(nilInfoCreds{protocolCreds{insecure.NewCredentials(), "own"}}), grpc.WithPerRPCCredentials(token{secure: true}),
			}}.Start(p)
			securePeer(p, s)
		}},
		{Name: "no auth info, secure token of the call", Run: func(p *probe.P) {
			s := rig.Pair{TCP: true, Secure: true, Dial: []grpc.DialOption{grpc.WithTransportCredentials(nilInfoCreds{protocolCreds{insecure.NewCredentials(), "own"}})}}.Start(p)
			securePeer(p, s, grpc.PerRPCCredentials(token{secure: true}))
		}},
		{Name: "auth info without a level, secure token of the channel", Run: func(p *probe.P) {
			s := rig.Pair{TCP: true, Secure: true, Dial: []grpc.DialOption{
				grpc.WithTransportCredentials(bareInfoCreds{protocolCreds{insecure.NewCredentials(), "own"}}), grpc.WithPerRPCCredentials(token{secure: true}),
			}}.Start(p)
			securePeer(p, s)
			securePeer(p, s, grpc.PerRPCCredentials(token{secure: true}))
		}},
		{Name: "one key of several credentials", Run: func(p *probe.P) {
			one := func(value string) token { return token{md: map[string]string{"k": value}} }
			seen := rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
				md, _ := metadata.FromIncomingContext(ctx)
				return rig.M(fmt.Sprint(md["k"])), nil
			}}
			two := []grpc.DialOption{grpc.WithPerRPCCredentials(one("1")), grpc.WithPerRPCCredentials(one("2"))}
			bundle := grpc.WithCredentialsBundle(secretBundle{insecure.NewCredentials(), one("bundle")})
			plain := grpc.WithTransportCredentials(insecure.NewCredentials())
			for _, opts := range [][]grpc.DialOption{append(two, plain), append(two, bundle), {plain}, {bundle}} {
				s := rig.Pair{TCP: true, Secure: true, Handlers: seen, Dial: opts}.Start(p)
				p.Printf("%s", call(p.Context(), s))
				p.Printf("%s", call(p.Context(), s, grpc.PerRPCCredentials(one("call"))))
				p.Printf("%s", call(metadata.AppendToOutgoingContext(p.Context(), "k", "program"), s, grpc.PerRPCCredentials(one("call"))))
			}
		}},
		{Name: "local over networks", Run: func(p *probe.P) {
			for _, a := range networkAddrs {
				c, info, err := local.NewCredentials().ClientHandshake(p.Context(), "x", unusedConn{remote: a})
				p.Printf("%s %q: %v %s %s", a.network, a.text, c != nil, authText(info), rig.Err(err))
			}
		}},
		xdsTLS("TLS to a server with h2", &tls.Config{NextProtos: []string{"h2"}}),
		xdsTLS("TLS to a server without ALPN", &tls.Config{}),
		xdsTLS("TLS to a server with another protocol", &tls.Config{NextProtos: []string{"other"}}),
		xdsTLS("TLS to an old server", &tls.Config{NextProtos: []string{"h2"}, MaxVersion: tls.VersionTLS11}),
	}
}

// xdsTLS calls a server that a cluster's TLS settings are for.
func xdsTLS(name string, server *tls.Config) probe.Probe {
	return probe.Probe{Name: name, Run: func(p *probe.P) {
		cert, _ := rig.CertificateWith(nil)
		server = server.Clone()
		server.Certificates = []tls.Certificate{cert}
		addr := plainTLSServer(p, server)
		dir, err := os.MkdirTemp("", "probe")
		if err != nil {
			panic(err)
		}
		p.Cleanup(func() { _ = os.RemoveAll(dir) })
		file := filepath.Join(dir, "ca")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600); err != nil {
			panic(err)
		}
		state := newXDSState(p)
		state.endpoints[0] = plane.Endpoints("a", plane.Locality("z", 0, uint32(addr.Port)))
		state.clusters[0].TransportSocket = &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: plane.Any(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
				ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
					CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "p"},
				}},
			}}),
		}}
		control := plane.Start(p, state.all()...)
		creds, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
		if err != nil {
			panic(err)
		}
		config := control.Bootstrap(fmt.Sprintf(`"certificate_providers":{"p":{"plugin_name":"file_watcher","config":{"ca_certificate_file":%q}}}`, file))
		cc := channelTo(p, "xds:///svc", grpc.WithTransportCredentials(creds), grpc.WithResolvers(xdsResolver(config)))
		var pr peer.Peer
		err = cc.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg), grpc.Peer(&pr))
		p.Printf("%s", nodeText(rig.Err(err)))
		p.Printf("peer %s", authText(pr.AuthInfo))
	}}
}

// networkAddr is an address of any network.
type networkAddr struct{ network, text string }

func (a networkAddr) Network() string { return a.network }
func (a networkAddr) String() string  { return a.text }

// unusedConn is a connection that is never used.
type unusedConn struct {
	net.Conn
	remote net.Addr
}

func (a unusedConn) RemoteAddr() net.Addr { return a.remote }
func (unusedConn) Close() error           { return nil }

// protocolCreds have a protocol of their own.
type protocolCreds struct {
	credentials.TransportCredentials
	protocol string
}

func (c protocolCreds) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: c.protocol}
}

// bareInfoCreds have an AuthInfo that says nothing of a level.
type bareInfoCreds struct {
	credentials.TransportCredentials
}

func (c bareInfoCreds) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, bareInfo{}, nil
}
func (c bareInfoCreds) Clone() credentials.TransportCredentials { return c }

type bareInfo struct{}

func (bareInfo) AuthType() string { return "bare" }
