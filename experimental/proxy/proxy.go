// SPDX-License-Identifier: Apache-2.0

// Package proxy has one channel go through a proxy that the program names, in place of those of the
// environment.
//
//	u, err := url.Parse("socks5://user:password@proxy.example.com:1080")
//	...
//	through, err := proxy.Through(u, nil)
//	...
//	cc, err := grpc.NewClient("dns:///orders:443", through, grpc.WithTransportCredentials(creds))
//
// # Schemes
//
//	http     a tunnel by CONNECT (RFC 9110, section 9.3.6), as HTTPS_PROXY asks for; port 80
//	https    the same inside of TLS to the proxy; port 443
//	socks5   SOCKS version 5 (RFC 1928), with a user and password (RFC 1929) if the URL has them;
//	         port 1080
//
// # Semantics
//
// A name in a target of scheme dns, which is the default, is resolved by the proxy, as with
// HTTPS_PROXY: it may be one that only the proxy knows. With grpc.WithLocalDNSResolution, and with
// all other schemes (passthrough, xds, resolvers of the program), each address is asked for as the
// resolver has it. Unix sockets are dialed directly. NO_PROXY is not looked at: the program has
// said what it wants. The credentials of the channel are for the server, inside of the tunnel; its
// name is that of the target.
//
// The option stands in place of the environment. grpc.WithNoProxy and grpc.WithContextDialer stand
// above it. An error of the proxy is an error of the connection attempt, with the usual back-off.
// It names the proxy without its password.
//
// Retries, hedging and interceptors are not concerned. A control plane of xDS is reached by a
// channel of its own, which does not have the option. A proxy that it names for a server of a cluster
// (gRFC A86) stands above the option, and is dialed directly.
//
// All of this may change or go in a later release.
package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/transport"
)

// Through returns an option: the connections of a channel go through the proxy. config is for TLS to
// a proxy of scheme https; nil stands for the defaults of crypto/tls, with the proxy's name. An
// error says that the URL names no proxy.
func Through(proxy *url.URL, config *tls.Config) (grpc.DialOption, error) {
	port := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	switch {
	case port == "":
		return nil, fmt.Errorf("proxy: the scheme %q is none of http, https and socks5", proxy.Scheme)
	case proxy.Hostname() == "":
		return nil, fmt.Errorf("proxy: the URL has no host")
	}
	if proxy.Port() != "" {
		port = proxy.Port()
	}
	own := *proxy
	config = config.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	if config.ServerName == "" {
		config.ServerName = proxy.Hostname()
	}
	config.NextProtos = []string{"http/1.1"}
	return option{server: &server{url: &own, at: net.JoinHostPort(proxy.Hostname(), port), config: config}}, nil
}

// option is known to package grpc by its method.
type option struct {
	grpc.EmptyDialOption
	server *server
}

func (o option) ChannelProxy() (*url.URL, func(*url.URL, string) transport.DialFunc) {
	return o.server.url, o.server.dialer
}

// server is a proxy.
type server struct {
	url    *url.URL
	at     string // host:port
	config *tls.Config
}

// dialer returns what dials through the proxy.
func (s *server) dialer(_ *url.URL, userAgent string) transport.DialFunc {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "unix-abstract:") {
			return transport.DialDirect(ctx, addr)
		}
		nc, err := transport.DialSystem(ctx, s.at)
		if err != nil {
			return nil, fmt.Errorf("proxy %s: %w", s.at, err)
		}
		through, err := s.connect(ctx, nc, addr, userAgent)
		if err != nil {
			nc.Close()
			return nil, fmt.Errorf("proxy %s: %w", s.at, err)
		}
		return through, nil
	}
}

// connect has the proxy at the other end of nc connect to addr.
func (s *server) connect(ctx context.Context, nc net.Conn, addr, userAgent string) (net.Conn, error) {
	switch s.url.Scheme {
	case "https":
		secure := tls.Client(nc, s.config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		return secure, transport.Tunnel(ctx, secure, s.url, addr, userAgent)
	case "http":
		return nc, transport.Tunnel(ctx, nc, s.url, addr, userAgent)
	}
	return nc, socks(ctx, nc, s.url.User, addr)
}
