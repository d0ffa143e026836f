// SPDX-License-Identifier: Apache-2.0

// Package cds has the policy for one cluster of xDS (gRFC A27, A37, A50, A56, A74, A75). For an
// aggregate cluster its child is a priority policy, which has a cds policy for each cluster that the
// aggregate consists of. For any other cluster the policies below it are
//
//	outlier detection -> cluster_impl -> priority -> the policy that the cluster names
//
// If RPCs may stay with the servers of their sessions (A55), override_host is above priority. The
// priority policy has a child for each priority of the cluster's endpoints. The resolver's state has
// what is known about the cluster. A cluster may name cds as its policy, and so lead to another cluster:
// lineage.go keeps that from going on for ever. Importing the package registers the policy.
package cds

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func init() { balancer.Register(builder{}) }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &policy{cc: cc, opts: buildoptions.Keep(cc, opts)}
}

// policy is the balancer. Its methods are called one at a time, so it needs no lock.
type policy struct {
	cc   balancer.ClientConn
	opts buildoptions.Kept

	node        string // the prefix of errors, which names the xDS node
	name        string // of the cluster
	unsubscribe func() // nil unless the cluster is dynamic
	child       *gracefulswitch.Balancer
	current     *dependency.Cluster
	policy      json.RawMessage // of the configuration
	tree        tree
	line        *lineage
}

// UpdateClientConnState updates the child if the cluster or the configuration has changed, or if other clusters
// are below this one, and otherwise does nothing.
func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	a := dependency.Of(s.ResolverState)
	if a == nil {
		return fmt.Errorf("%w: %s works only with targets of scheme xds", balancer.ErrBadResolverState, Name)
	}
	p.node = prefixOf(a)
	var cluster *dependency.Cluster
	if a.Config != nil {
		cluster = a.Config.Clusters[c.cluster]
	}
	same := p.enter(lineageOf(s.ResolverState), c, cluster != nil && cluster.Leaves != nil)
	p.watch(c, a.Subscriber) // after enter: the policies above have to pass on what it brings
	switch {
	case cluster == nil && c.dynamic:
		return nil // the cluster will come with a later update
	case cluster == nil:
		cluster = &dependency.Cluster{Err: fmt.Errorf("cluster %q is not there", c.cluster)}
	case same && cluster == p.current && cluster.Leaves == nil && !p.line.leads.Load():
		return nil
	}
	p.current, p.policy = cluster, c.policy
	if cluster.Err != nil {
		p.fail(cluster.Err)
		return nil
	}
	if err := p.line.check(); err != nil {
		p.current = nil // the next update tries again
		p.fail(fmt.Errorf("cluster %q: %w", p.name, err))
		return nil
	}
	return p.update(cluster, p.line.attach(s.ResolverState))
}

// watch subscribes to the cluster if it is dynamic. The subscription lasts from the first update to
// Close.
func (p *policy) watch(c *config, to dependency.Subscriber) {
	if p.unsubscribe != nil && p.name != c.cluster {
		p.unsubscribe()
		p.unsubscribe = nil
	}
	if p.name != c.cluster {
		p.name, p.current = c.cluster, nil
	}
	if c.dynamic && p.unsubscribe == nil {
		p.unsubscribe = to.Subscribe(c.cluster)
	}
}

// prefixOf returns the prefix of errors that names the xDS node, or "" if the node is not known.
func prefixOf(a *dependency.Attachment) string {
	if a.Client == nil {
		return ""
	}
	return a.Client.Bootstrap().NodeLabel() + " "
}

// fail makes RPCs fail because the cluster can't be used. RPCs that wait for ready go on waiting. The
// others get the text of err, but not a status that err contains.
func (p *policy) fail(err error) {
	if p.child != nil {
		p.child.Close()
		p.child, p.tree = nil, tree{}
	}
	picker := base.NewErrPicker(errors.New(p.node + err.Error()))
	p.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: picker})
}

func (p *policy) update(c *dependency.Cluster, s resolver.State) (err error) {
	var below *gracefulswitch.Config
	if c.Resource.Type == resource.Aggregate {
		below = p.tree.aggregate(c)
		s.Endpoints, s.Addresses = nil, nil
	} else if below, s, err = p.tree.leaf(leafOf{name: p.name, policy: string(p.policy), node: p.node}, c, s); err != nil {
		p.fail(fmt.Errorf("cluster %q: %w", p.name, err))
		return nil
	}
	if p.child == nil {
		p.child = gracefulswitch.New(p.cc, p.opts.Of(p.cc))
	}
	return p.child.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: below})
}

// ResolverError implements balancer.Balancer. If there is a child, it gets the error; otherwise RPCs
// fail with the error's text.
func (p *policy) ResolverError(err error) {
	if p.child != nil {
		p.child.ResolverError(err)
	} else {
		p.fail(err)
	}
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer. The child handles it.
func (p *policy) ExitIdle() {
	if p.child != nil {
		p.child.ExitIdle()
	}
}

// Close implements balancer.Balancer.
func (p *policy) Close() {
	if p.unsubscribe != nil {
		p.unsubscribe()
	}
	if p.child != nil {
		p.child.Close()
	}
	p.leave()
}
