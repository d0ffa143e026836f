// SPDX-License-Identifier: Apache-2.0

// Package proxy makes a channel use a proxy that the program names, instead of those that the environment
// names.
//
//	u, err := url.Parse("socks5://user:password@proxy.example.com:1080")
//	...
//	through, err := proxy.Through(u, nil)
//	...
//	cc, err := grpc.NewClient("dns:///orders:443", through, grpc.WithTransportCredentials(creds))
//
// # Schemes
//
//	http     a tunnel by CONNECT (RFC 9110, section 9.3.6), as for HTTPS_PROXY; port 80
//	https    the same over TLS to the proxy; port 443
//	socks5   SOCKS version 5 (RFC 1928), with a user and password (RFC 1929) if the URL has them;
//	         port 1080
//
// # Semantics
//
// In a target of scheme dns, the default, the proxy resolves the name, as with HTTPS_PROXY: it may be a
// name that only the proxy knows. With grpc.WithLocalDNSResolution, and with all other schemes
// (passthrough, xds, resolvers of the program), the proxy is asked for each address as the resolver gives
// it. Unix sockets are dialed directly. NO_PROXY is ignored, as the program has said what it wants. The
// credentials of the channel are for the server, inside the tunnel; the server's name is that of the
// target.
//
// The option replaces the environment. grpc.WithNoProxy and grpc.WithContextDialer take precedence over it.
// An error of the proxy is an error of the connection attempt, with the usual back-off. The error names
// the proxy without its password.
//
// Retries, hedging and interceptors are not affected. A control plane of xDS has a channel of its own,
// which does not have the option. If the control plane names a proxy for a server of a cluster (gRFC A86),
// that proxy takes precedence over the option, and is dialed directly.
//
// All of this may change, or be removed, in a later release.
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

// Through returns a DialOption that makes the connections of a channel go through the proxy. config is
// for TLS to a proxy of scheme https; nil stands for the defaults of crypto/tls, with the proxy's name. An
// error says that the URL has another scheme, or no host.
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

// option is an option that package grpc recognises by its method.
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

// dialer returns a function that dials through the proxy.
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

// connect asks the proxy at the other end of nc to connect to addr.
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
