// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"encoding/json"
	"sync/atomic"

	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/balancer/clustermanager"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

var logger = grpclog.Component("xds")

// Resolver is a resolver.Resolver. As a dependency.Watcher it receives the channel's
// configuration.
type Resolver struct {
	// Immutable once Build has returned.
	cc      resolver.ClientConn
	client  *xdsclient.Client
	release func()
	channel uint64             // identifies the channel to hash policies (A42)
	known   httpfilter.Channel // describes the channel to filters

	manager *dependency.Manager

	work   serializer.Serializer
	closed atomic.Bool

	// Only functions that run in work use the fields below.
	config        *dependency.Config  // the last one that could be used, or, after an error, one of clusters alone
	clusters      map[string]*cluster // by the name of the cluster manager's child
	selector      rpcconfig.Selector  // the one in use
	serviceConfig *serviceconfig.ParseResult
	memory        httpfilter.Memory // of the listener's filters
}

// cluster is a child of the cluster manager: a cluster, or a cluster specifier plugin.
type cluster struct {
	name    string // of the child
	watched string // the cluster that is watched for it; "" for a plugin
	policy  json.RawMessage
	// users counts the selector in use, if it needs the cluster, and RPCs. hold, which runs in
	// Resolver.work, may raise it from 0. newRPC raises it while the selector has a use, and so never
	// from 0. Everything else must call useAgain.
	users atomic.Int64
	// unsubscribe ends the watch of the cluster. It is nil for a plugin.
	unsubscribe func()
	resolver    *Resolver
}

// useAgain adds a use if the cluster still has at least one, and reports whether it did.
func (c *cluster) useAgain() bool {
	for n := c.users.Load(); n > 0; n = c.users.Load() {
		if c.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// done ends one use.
func (c *cluster) done() {
	if c.users.Add(-1) == 0 {
		c.resolver.work.Go(c.resolver.clear)
	}
}

// holder is a selector that has uses of clusters, which keep these from being removed.
type holder interface {
	rpcconfig.Selector
	// held returns the clusters that the selector has a use of.
	held() []*cluster
}

// hold returns the child called name and adds a use of it. If there is no such child, hold makes
// one with the policy. watched is the cluster to watch for the child, or "" if the child is a
// plugin.
func (r *Resolver) hold(name, watched string, policy json.RawMessage) *cluster {
	c := r.clusters[name]
	if c == nil {
		c = &cluster{name: name, watched: watched, policy: policy, resolver: r}
		if watched != "" {
			c.unsubscribe = r.manager.Subscribe(watched)
		}
		r.clusters[name] = c
		r.serviceConfig = nil
	} else if string(c.policy) != string(policy) {
		c.policy = policy
		r.serviceConfig = nil
	}
	c.users.Add(1)
	return c
}

// clear removes the clusters that have no use.
func (r *Resolver) clear() {
	changed := false
	for name, c := range r.clusters {
		if c.users.Load() == 0 {
			delete(r.clusters, name)
			if c.unsubscribe != nil {
				c.unsubscribe()
			}
			changed = true
		}
	}
	if changed {
		r.serviceConfig = nil
		r.send()
	}
}

// send sends the current state to the channel. It returns when the channel has taken it over.
func (r *Resolver) send() {
	if r.closed.Load() {
		return
	}
	if r.serviceConfig == nil {
		r.serviceConfig = r.cc.ParseServiceConfig(r.serviceConfigJSON())
		if err := r.serviceConfig.Err; err != nil {
			logger.Errorf("a service config of the resolver's own is not valid: %v", err)
		}
	}
	s := resolver.State{ServiceConfig: r.serviceConfig}
	s = dependency.Attach(s, &dependency.Attachment{Config: r.config, Client: r.client, Subscriber: r.manager})
	// The channel may reject the state. The resolver can't do anything about that, so it ignores
	// the error.
	_ = r.cc.UpdateState(rpcconfig.WithSelector(s, r.selector))
}

// serviceConfigJSON returns a service config with a child for each cluster. RPCs fail if there
// are no clusters.
func (r *Resolver) serviceConfigJSON() string {
	type child struct {
		Policy json.RawMessage `json:"childPolicy"`
	}
	children := make(map[string]child, len(r.clusters))
	for name, c := range r.clusters {
		children[name] = child{c.policy}
	}
	js, err := json.Marshal(map[string]any{
		"loadBalancingConfig": []any{map[string]any{clustermanager.Name: map[string]any{"children": children}}},
	})
	if err != nil { // a policy is not valid JSON, which the parsers of resources prevent
		logger.Errorf("the service config: %v", err)
		return "{}"
	}
	return string(js)
}
