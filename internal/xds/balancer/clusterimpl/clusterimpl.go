// SPDX-License-Identifier: Apache-2.0

// Package clusterimpl applies a cluster's settings to all RPCs that go there, whichever endpoint handles
// them. These are drops (gRFC A27), circuit breaking (A32), load reports (A27, A64, A85), how connections are
// made (A29, A86) and how many (A105), the authority (A81), and labels of metrics (A78, A89). The resolver's
// state has the cluster. Importing the package registers the policy.
package clusterimpl

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "xds_cluster_impl_experimental"

var logger = grpclog.Component("xds")

func init() { balancer.Register(builder{}) }

// Builder returns the policy's builder, for callers that make a Config themselves.
func Builder() balancer.Builder { return builder{} }

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

// Config is the policy's configuration.
type Config struct {
	serviceconfig.LoadBalancingConfig
	// Cluster is the name of the cluster.
	Cluster string
	// Child is the policy below this one.
	Child *gracefulswitch.Config
}

// ParseConfig parses the fields "cluster" and "childPolicy".
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Cluster string `json:"cluster"`
	}
	child, err := gracefulswitch.ParseAround(Name, js, &in)
	if err != nil {
		return nil, err
	}
	if in.Cluster == "" {
		return nil, errors.New(Name + ": cluster is missing")
	}
	return &Config{Cluster: in.Cluster, Child: child}, nil
}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	p := &policy{ClientConn: cc, opts: buildoptions.Keep(cc, opts), security: &handshake.Client{}}
	p.child.Init(p)
	return p
}

// UpdateClientConnState takes over the cluster if it has changed, and updates the child.
func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*Config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	a := dependency.Of(s.ResolverState)
	if a == nil || a.Config == nil || a.Config.Clusters[c.Cluster] == nil || a.Config.Clusters[c.Cluster].Resource == nil {
		return fmt.Errorf("%w: %s knows nothing of cluster %q", balancer.ErrBadResolverState, Name, c.Cluster)
	}
	if cluster := a.Config.Clusters[c.Cluster]; cluster != p.current {
		p.adopt(c.Cluster, cluster, a)
	}
	s.BalancerConfig = c.Child
	return p.child.UpdateClientConnState(s)
}

func (p *policy) adopt(name string, cluster *dependency.Cluster, a *dependency.Attachment) {
	p.current = cluster
	if err := p.security.Set(cluster.Resource.TLS, a.Client.Bootstrap().CertProviders); err != nil {
		logger.Errorf("cluster %q: connections fail, as the certificates that it asks for cannot be had: %v", name, err)
	}
	p.scale.Set(int(min(cluster.Resource.MaxConnections, math.MaxInt32)))
	p.reports = p.reports.update(name, cluster.Resource, a.Client)
	loads := p.reports.counters()
	if key := (requestKey{name, cluster.Resource.EDSServiceName}); p.requests == nil || p.requests.key != key {
		p.requests.release()
		p.requests = requestsOf(key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.settings
	p.settings = newSettings(cluster, p.requests, loads, before)
	if p.settings != before && p.reported {
		p.reportLocked()
	}
}

// ResolverError implements balancer.Balancer. The child handles it.
func (p *policy) ResolverError(err error) { p.child.ResolverError(err) }

// UpdateSubConnState is never called: every SubConn here has a listener.
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer. The child handles it.
func (p *policy) ExitIdle() { p.child.ExitIdle() }

// Close implements balancer.Balancer. RPCs that are still in progress remain counted until they end.
func (p *policy) Close() {
	p.child.Close()
	p.reports.stop()
	p.requests.release()
	p.security.Close()
}

// BuildOptions implements buildoptions.Owner.
func (p *policy) BuildOptions() balancer.BuildOptions { return p.opts.Of(p.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (p *policy) UpdateState(s balancer.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.reported = s, true
	p.reportLocked()
}
