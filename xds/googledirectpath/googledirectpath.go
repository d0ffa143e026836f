// SPDX-License-Identifier: Apache-2.0

// Package googledirectpath registers the resolver for targets like google-c2p:///service and
// google-c2p-experimental:///service, which client libraries of Google Cloud use. On a machine
// of Google Cloud the resolver uses xDS, with a bootstrap configuration for Google's control
// plane, unless the program has a bootstrap configuration of its own. In all other cases it
// uses DNS.
//
// Programs import it for its side effect:
//
//	import _ "google.golang.org/grpc/xds/googledirectpath"
//
// Experimental: this API may change in a later release.
package googledirectpath

import (
	"errors"
	"net/url"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/googlecloud"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
	_ "google.golang.org/grpc/xds" // registers the resolver of scheme xds
)

// The schemes of the targets.
const (
	scheme             = "google-c2p"
	schemeExperimental = "google-c2p-experimental"
)

// ownBootstrap is true if the environment has a bootstrap configuration.
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
