// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"golang.org/x/net/http/httpproxy"
	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
)

// ProxyParams is what decides about a proxy beside the target.
type ProxyParams struct {
	UserAgent   string
	LocalDNS    bool // names are resolved here in any case
	DefaultPort bool // the proxy is asked for port 443 where the target names none
	// For says which proxy stands before a URL, nil for none; nil asks the environment.
	For func(*url.URL) (*url.URL, error)
	// Dialer returns who dials through a proxy; nil stands for transport.ProxyDialer.
	Dialer func(proxy *url.URL, userAgent string) transport.DialFunc
}

func (p *ProxyParams) through(proxy *url.URL) transport.DialFunc {
	if p.Dialer != nil {
		return p.Dialer(proxy, p.UserAgent)
	}
	return transport.ProxyDialer(proxy, p.UserAgent)
}

// SettleProxy decides whether connections may go through a proxy. HTTPS_PROXY and NO_PROXY
// decide for the target as it is, before it is resolved, and, where it is resolved here, for
// each address (gRFC A1). It returns who dials then; nil stands for nobody in between.
func (t *Target) SettleProxy(p ProxyParams) (transport.DialFunc, error) {
	if p.For == nil {
		p.For = httpproxy.FromEnvironment().ProxyFunc()
	}
	parsed := t.Parsed()
	endpoint := parsed.Endpoint()
	proxy, err := p.For(&url.URL{Scheme: "https", Host: endpoint})
	if err != nil {
		return nil, fmt.Errorf("grpc: the proxy for target %q: %w", t.Name, err)
	}
	if proxy == nil {
		return nil, nil
	}
	if parsed.URL.Scheme != scheme.DNS || p.LocalDNS {
		return p.dial, nil
	}
	// The proxy resolves the name: it may be one that only it can resolve.
	if p.DefaultPort {
		endpoint = withPort(endpoint)
	}
	t.builder = unresolved{endpoint}
	return p.through(proxy), nil
}

// dial connects to an address that a resolver found, through a proxy if one stands before it.
func (p *ProxyParams) dial(ctx context.Context, addr string) (net.Conn, error) {
	proxy, err := p.For(&url.URL{Scheme: "https", Host: addr})
	if err != nil {
		return nil, fmt.Errorf("grpc: the proxy for address %q: %w", addr, err)
	}
	if proxy == nil {
		return transport.DialDirect(ctx, addr)
	}
	return p.through(proxy)(ctx, addr)
}

// withPort adds the usual port to a host without one.
func withPort(endpoint string) string {
	if _, _, err := net.SplitHostPort(endpoint); err == nil {
		return endpoint
	}
	host := endpoint
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return net.JoinHostPort(host, "443")
}

// unresolved is the resolver of a target that a proxy is to resolve.
type unresolved struct{ addr string }

// Scheme implements resolver.Builder.
func (unresolved) Scheme() string { return scheme.DNS }

// Build implements resolver.Builder.
func (u unresolved) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return static.Resolve(cc, resolver.Address{Addr: u.addr}), nil
}
