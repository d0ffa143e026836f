// SPDX-License-Identifier: Apache-2.0

// Package cds makes the policies for a cluster of xDS (gRFC A27, A37, A50, A56, A74, A75). Below
// it, for an aggregate cluster, is a priority policy with a cds policy for each of the clusters it
// consists of; for another one it is
//
//	outlier detection -> cluster_impl -> priority -> the policy that the cluster names
//
// with override_host before priority where sessions may stay with their servers (A55), and
// a child of the priority policy for each priority of the cluster's endpoints. What is
// known of the cluster comes with the state of the resolver. Importing the package registers it.
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

// policy is the balancer. It is called one call at a time, so it needs no lock.
type policy struct {
	cc   balancer.ClientConn
	opts buildoptions.Kept

	node        string // of the program, as control planes know it; stands before errors
	name        string // of the cluster
	unsubscribe func() // nil unless the cluster is dynamic
	child       *gracefulswitch.Balancer
	current     *dependency.Cluster
	policy      json.RawMessage // of the configuration
	tree        tree
}

// UpdateClientConnState passes on what is new of the cluster, and nothing if nothing is.
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
	p.watch(c, a.Subscriber)
	var cluster *dependency.Cluster
	if a.Config != nil {
		cluster = a.Config.Clusters[c.cluster]
	}
	switch {
	case cluster == nil && c.dynamic:
		return nil // it will be there soon
	case cluster == nil:
		cluster = &dependency.Cluster{Err: fmt.Errorf("cluster %q is not there", c.cluster)}
	case cluster == p.current && cluster.Leaves == nil && string(c.policy) == string(p.policy):
		return nil
	}
	p.current, p.policy = cluster, c.policy
	if cluster.Err != nil {
		p.fail(cluster.Err)
		return nil
	}
	return p.update(cluster, s.ResolverState)
}

// watch has a dynamic cluster watched, from the first update to Close.
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

// prefixOf names the node, where it is known.
func prefixOf(a *dependency.Attachment) string {
	if a.Client == nil {
		return ""
	}
	return "[xDS node id: " + a.Client.Bootstrap().NodeID() + "] "
}

// fail has RPCs fail, for a cluster that can't be used, but for those that wait for it. A status that
// is in err is not theirs.
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

// ResolverError is the child's. Without one RPCs fail with the text of it.
func (p *policy) ResolverError(err error) {
	if p.child != nil {
		p.child.ResolverError(err)
	} else {
		p.fail(err)
	}
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle is the child's.
func (p *policy) ExitIdle() {
	if p.child != nil {
		p.child.ExitIdle()
	}
}

// Close closes the child.
func (p *policy) Close() {
	if p.unsubscribe != nil {
		p.unsubscribe()
	}
	if p.child != nil {
		p.child.Close()
	}
}
