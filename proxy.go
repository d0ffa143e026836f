// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"
	"net"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/resolver"
)

// settleProxy decides whether connections go through a proxy. HTTPS_PROXY and NO_PROXY
// decide for the target as it is, before it is resolved. A dialer of the program's own
// knows better.
func (cc *ClientConn) settleProxy(parsed resolver.Target, o *dialOptions) error {
	if o.dialer != nil || o.noProxy {
		return nil
	}
	proxyFor := o.proxyFor
	if proxyFor == nil {
		proxyFor = httpproxy.FromEnvironment().ProxyFunc()
	}
	endpoint := parsed.Endpoint()
	proxy, err := proxyFor(&url.URL{Scheme: "https", Host: endpoint})
	if err != nil {
		return fmt.Errorf("grpc: the proxy for target %q: %w", cc.target, err)
	}
	if proxy == nil {
		return nil
	}
	o.transport.Dial = transport.ProxyDialer(proxy, grpcwire.UserAgent(o.userAgent, Version))
	if parsed.URL.Scheme == scheme.DNS && !o.localDNS {
		// The proxy resolves the name: it may be one that only it can resolve.
		if o.proxyDefaultPort {
			endpoint = withPort(endpoint)
		}
		cc.builder = unresolved{endpoint}
	}
	return nil
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
