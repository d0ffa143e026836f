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

// ProxyParams are the settings that, with the target, decide whether connections go through a
// proxy.
type ProxyParams struct {
	UserAgent   string
	LocalDNS    bool // this process resolves the target's name even if there is a proxy
	DefaultPort bool // the proxy is asked for port 443 if the target has no port
	// For returns the proxy for a URL, or nil if there is none. A nil For means that the
	// environment decides.
	For func(*url.URL) (*url.URL, error)
	// Dialer returns a function that dials through a proxy. A nil Dialer means
	// transport.ProxyDialer.
	Dialer func(proxy *url.URL, userAgent string) transport.DialFunc
}

func (p *ProxyParams) through(proxy *url.URL) transport.DialFunc {
	if p.Dialer != nil {
		return p.Dialer(proxy, p.UserAgent)
	}
	return transport.ProxyDialer(proxy, p.UserAgent)
}

// SettleProxy decides whether connections may go through a proxy (gRFC A1). p.For, which follows
// HTTPS_PROXY and NO_PROXY by default, decides for the target before it is resolved. If this
// process resolves the target, p.For decides again for each address. SettleProxy returns the
// function that dials; nil means that there is no proxy.
func (t *Target) SettleProxy(p ProxyParams) (transport.DialFunc, error) {
	if p.For == nil {
		p.For = httpproxy.FromEnvironment().ProxyFunc()
	}
	parsed := t.Parsed()
	endpoint := parsed.Endpoint()
	unresolvedHere := parsed.URL.Scheme == scheme.DNS && !p.LocalDNS
	if unresolvedHere && p.DefaultPort {
		endpoint = withPort(endpoint) // before it is decided: ":8080" is localhost's, and "::1" is an address
	}
	proxy, err := p.For(&url.URL{Scheme: "https", Host: endpoint})
	if err != nil {
		return nil, fmt.Errorf("grpc: the proxy for target %q: %w", t.Name, err)
	}
	if proxy == nil {
		return nil, nil
	}
	if !unresolvedHere {
		return p.dial, nil
	}
	// The proxy resolves the name: it may be a name that only the proxy can resolve.
	t.builder = unresolved{endpoint}
	return p.through(proxy), nil
}

// dial connects to an address that a resolver found, through a proxy if p.For returns one for the
// address.
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

// withPort adds port 443 to a host without a port. A port without a host is localhost's, as package dns has it.
func withPort(endpoint string) string {
	if host, port, err := net.SplitHostPort(endpoint); err == nil {
		if host == "" {
			return net.JoinHostPort("localhost", port)
		}
		return endpoint
	}
	host := endpoint
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return net.JoinHostPort(host, "443")
}

// unresolved builds resolvers that return addr as it is, for a proxy to resolve.
type unresolved struct{ addr string }

// Scheme implements resolver.Builder.
func (unresolved) Scheme() string { return scheme.DNS }

// Build implements resolver.Builder.
func (u unresolved) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return static.Resolve(cc, resolver.Address{Addr: u.addr}), nil
}
