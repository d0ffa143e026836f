// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/internal/backendlabel"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/balancer/outlierdetection"
	"google.golang.org/grpc/internal/xds/balancer/clusterimpl"
	"google.golang.org/grpc/internal/xds/balancer/overridehost"
	"google.golang.org/grpc/internal/xds/balancer/priority"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

// tree makes the configurations of the policies below, and keeps what can be used again at the next
// update.
type tree struct {
	text      string // the text from which policy was parsed
	policy    *gracefulswitch.Config
	names     names
	wants     wants               // what resolved has
	endpoints *resource.Endpoints // the endpoints from which resolved was made
	resolved  *resolved
}

func prioritized(c *priority.Config) *gracefulswitch.Config {
	return &gracefulswitch.Config{Child: balancer.Get(priority.Name), ChildConfig: c}
}

// aggregate returns the configuration for an aggregate cluster. Its leaves are the priorities, in
// this order (A75).
func (t *tree) aggregate(c *dependency.Cluster) *gracefulswitch.Config {
	*t = tree{}
	p := &priority.Config{Children: make(map[string]priority.Child, len(c.Leaves)), Priorities: c.Leaves}
	for _, name := range c.Leaves {
		below := &config{cluster: name, policy: c.Resource.LBPolicy}
		p.Children[name] = priority.Child{Policy: &gracefulswitch.Config{Child: builder{}, ChildConfig: below}}
	}
	return prioritized(p)
}

// leaf returns the configuration for a cluster with its own endpoints, and the resolver state with
// these endpoints. of.policy, if not empty, replaces the policy that the cluster names. leaf sets
// the remaining fields of of.
func (t *tree) leaf(of leafOf, c *dependency.Cluster, s resolver.State) (*gracefulswitch.Config, resolver.State, error) {
	if of.policy == "" {
		of.policy = string(c.Resource.LBPolicy)
	}
	if w := wantsOf(c.Resource); c.Endpoints == nil || c.Endpoints != t.endpoints || w != t.wants {
		t.endpoints, t.wants = c.Endpoints, w
		t.resolve()
	}
	of.names, of.resource = strings.Join(t.names.list, " "), c.Resource
	config, err := t.config(of, c)
	if err != nil {
		return nil, s, err
	}
	s.Endpoints, s.Addresses = t.resolved.all, nil
	s = weightedroundrobin.SetBackendService(backendlabel.WithService(s, of.name), of.name)
	return config, s, nil
}

// leafOf has everything that the configuration of a cluster with its own endpoints depends on, except these
// endpoints.
type leafOf struct {
	name, policy, names string
	node                string // the prefix of errors
	resource            *resource.Cluster
}

// leafConfig is a configuration that channels share.
type leafConfig struct {
	of     leafOf
	config *gracefulswitch.Config
}

// leafKey is the key of the last leafConfig in resource.Derive.
type leafKey struct{}

// config returns the configuration made from of and c. If the last one that a channel has made for
// these endpoints is the same, config returns that one.
func (t *tree) config(of leafOf, c *dependency.Cluster) (*gracefulswitch.Config, error) {
	if c.Endpoints == nil || c.Note != nil {
		return t.makeConfig(of, c)
	}
	last := resource.Derive(&c.Endpoints.Derived, leafKey{}, func() *atomic.Pointer[leafConfig] { return new(atomic.Pointer[leafConfig]) })
	if l := last.Load(); l != nil && l.of == of {
		return l.config, nil
	}
	config, err := t.makeConfig(of, c)
	if err == nil {
		last.Store(&leafConfig{of, config})
	}
	return config, err
}

func (t *tree) makeConfig(of leafOf, c *dependency.Cluster) (*gracefulswitch.Config, error) {
	if t.policy == nil || of.policy != t.text {
		parsed, err := gracefulswitch.ParseConfig(json.RawMessage(of.policy))
		if err != nil {
			return nil, err
		}
		t.text, t.policy = of.policy, parsed
	}
	children := &priority.Config{
		Children: make(map[string]priority.Child, len(t.names.list)), Priorities: t.names.list, Endpoints: t.resolved.byChild,
	}
	switch {
	case c.Note != nil:
		children.Empty = fmt.Errorf("%s%w", of.node, c.Note)
	case len(children.Priorities) == 0:
		children.Empty = fmt.Errorf("%sthere are no priorities, and so no endpoints, of cluster %q", of.node, of.name)
	}
	if t.wants.sessions { // override_host, above, decides which endpoints the children get
		children.Endpoints = nil
	}
	for _, child := range t.names.list {
		children.Children[child] = priority.Child{
			Policy: t.policy, IgnoreReresolution: c.Resource.Type == resource.EDS,
		}
	}
	impl := &clusterimpl.Config{Cluster: of.name, Child: prioritized(children)}
	if t.wants.sessions {
		sticky := &overridehost.Config{Cluster: of.name, Child: impl.Child}
		impl.Child = &gracefulswitch.Config{Child: overridehost.Builder(), ChildConfig: sticky}
	}
	outliers := outlierConfig(c.Resource.Outlier)
	outliers.Child = &gracefulswitch.Config{Child: clusterimpl.Builder(), ChildConfig: impl}
	return &gracefulswitch.Config{Child: outlierdetection.Builder(), ChildConfig: outliers}, nil
}

// resolvedKey is the key of a resolved in resource.Derive. All channels whose children have the same
// names share it.
type resolvedKey struct {
	names string
	wants wants
}

func (t *tree) resolve() {
	if t.endpoints == nil {
		t.names.assign(nil)
		t.resolved = &resolved{byChild: make(map[string][]resolver.Endpoint)}
		return
	}
	priorities := t.endpoints.Priorities()
	t.names.assign(priorities)
	key := resolvedKey{strings.Join(t.names.list, " "), t.wants}
	t.resolved = resource.Derive(&t.endpoints.Derived, key, func() *resolved { return endpoints(priorities, t.names.list, t.wants) })
}

// outlierConfig returns a configuration that does nothing if o is nil (A50).
func outlierConfig(o *resource.OutlierDetection) *outlierdetection.Config {
	if o == nil {
		return &outlierdetection.Config{}
	}
	return &outlierdetection.Config{
		Interval: o.Interval, BaseEjectionTime: o.BaseEjectionTime, MaxEjectionTime: o.MaxEjectionTime,
		MaxEjectionPercent: o.MaxEjectionPercent,
		SuccessRate:        (*outlierdetection.SuccessRate)(o.SuccessRate),
		FailurePercentage:  (*outlierdetection.FailurePercentage)(o.FailurePercentage),
	}
}
