// SPDX-License-Identifier: Apache-2.0

// Package googledirectpath registers the resolver for targets like google-c2p:///service, and
// google-c2p-experimental:///service, which client libraries of Google Cloud use. On a machine
// of Google Cloud's, where the program has no bootstrap configuration of its own, such a target
// is resolved by xDS, with a configuration for Google's control plane. Elsewhere it is resolved
// by DNS.
//
// Programs import it for its effect:
//
//	import _ "google.golang.org/grpc/xds/googledirectpath"
//
// Experimental: this API may change in a later release.
package googledirectpath

import (
	"errors"
	"fmt"
	"net/url"
	"sync"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/googlecloud"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
	_ "google.golang.org/grpc/xds" // registers the resolver of scheme xds
)

// Schemes of targets.
const (
	scheme             = "google-c2p"
	schemeExperimental = "google-c2p-experimental"
)

// ownBootstrap is whether the program has a bootstrap configuration of its own.
var ownBootstrap = envconfig.XDSBootstrapFile != "" || envconfig.XDSBootstrapConfig != ""

func init() {
	p := &platform{
		here:     func() bool { return googlecloud.Here() && !ownBootstrap },
		metadata: newMetadata(envconfig.GCEMetadataHost), uri: envconfig.XDSC2PURI,
		resolvers: resolver.Get, pool: xdsclient.Default,
	}
	resolver.Register(&builder{scheme: scheme, platform: p})
	resolver.Register(&builder{scheme: schemeExperimental, platform: p})
}

// defaultUniverse is where Google's services are unless something else is said.
const defaultUniverse = "googleapis.com"

var universe struct {
	sync.Mutex
	domain string // "" until SetUniverseDomain is called
}

// SetUniverseDomain says in which universe of Google Cloud's the services are; it is
// googleapis.com by default. It has to be called before the first channel is made whose target
// this package resolves. It fails if the domain is empty, or if another one is set already.
func SetUniverseDomain(domain string) error {
	universe.Lock()
	defer universe.Unlock()
	if domain == "" {
		return errors.New("universe domain cannot be empty")
	}
	if universe.domain != "" && universe.domain != domain {
		return fmt.Errorf("universe domain cannot be set to %s, already set to different value: %s", domain, universe.domain)
	}
	universe.domain = domain
	return nil
}

// currentUniverse settles the domain: it does not change once something was made with it.
func currentUniverse() string {
	universe.Lock()
	defer universe.Unlock()
	if universe.domain == "" {
		universe.domain = defaultUniverse
	}
	return universe.domain
}

// builder implements resolver.Builder for one scheme.
type builder struct {
	scheme   string
	platform *platform
}

// Scheme implements resolver.Builder.
func (b *builder) Scheme() string { return b.scheme }

// Build implements resolver.Builder. A target with an authority is refused.
func (b *builder) Build(t resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	if t.URL.Host != "" {
		return nil, errors.New("google-c2p URI scheme does not support authorities")
	}
	if !b.platform.here() {
		return b.platform.build("dns", resolver.Target{URL: url.URL{Scheme: "dns", Path: "/" + t.Endpoint()}}, cc, opts)
	}
	to := resolver.Target{URL: url.URL{Scheme: "xds", Host: authority, Path: "/" + t.Endpoint()}}
	return b.platform.handOver(to, cc, opts)
}

// build makes a resolver of another scheme.
func (p *platform) build(scheme string, t resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	b := p.resolvers(scheme)
	if b == nil {
		return nil, fmt.Errorf("google-c2p: no resolver is registered for scheme %q", scheme)
	}
	return b.Build(t, cc, opts)
}
