// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

// Scheme is the scheme of the targets that this package resolves.
const Scheme = "xds"

// Builder is a resolver.Builder that makes Resolvers.
type Builder struct {
	// Pool provides the xDS clients. Nil means the pool of the process.
	Pool *xdsclient.Pool
}

// Scheme implements resolver.Builder.
func (Builder) Scheme() string { return Scheme }

// Build implements resolver.Builder. It fails if there is no bootstrap configuration, or if the
// bootstrap configuration does not have the authority of the target.
func (b Builder) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	pool := b.Pool
	if pool == nil {
		pool = xdsclient.Default()
	}
	c, release, err := pool.Client(target.String(), nil, stats.ListOf(opts.MetricsRecorder)...)
	if err != nil {
		return nil, fmt.Errorf("xds: failed to create xds-client: %w", err)
	}
	name, err := c.Bootstrap().ClientListener(target.URL.Host, target.Endpoint())
	if err != nil {
		release()
		return nil, err
	}
	r := &Resolver{cc: cc, client: c, release: release, channel: rand.Uint64(), clusters: make(map[string]*cluster)}
	r.known = httpfilter.Channel{Target: target.String(), Authority: opts.Authority, Metrics: opts.MetricsRecorder}
	if logger.V(2) {
		logger.Infof("target %q: watching Listener %q", target, name)
	}
	r.manager = dependency.New(c, dependency.Options{Listener: name, Authority: opts.Authority, Watcher: r, Build: opts})
	r.manager.Start()
	return r, nil
}
