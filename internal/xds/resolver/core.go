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

// Resolver is a resolver.Resolver. It is told what the channel goes by, as a dependency.Watcher.
type Resolver struct {
	// Immutable once Build has returned.
	cc      resolver.ClientConn
	client  *xdsclient.Client
	release func()
	channel uint64             // what hash policies know of the channel (A42)
	known   httpfilter.Channel // what filters do

	manager *dependency.Manager

	work   serializer.Serializer
	closed atomic.Bool

	// The rest belongs to what runs in work.
	config        *dependency.Config  // the last that could be used
	clusters      map[string]*cluster // by the names of the cluster manager's children
	selector      rpcconfig.Selector  // in use
	serviceConfig *serviceconfig.ParseResult
	memory        httpfilter.Memory // of the listener's filters
}

// cluster is a child of the cluster manager.
type cluster struct {
	name   string // the child's
	policy json.RawMessage
	// users counts the selector in use and RPCs. Only what runs in Resolver.work, and RPCs with
	// a use of the selector's behind them, may raise it from 0.
	users atomic.Int64
	// unsubscribe ends the watch of the cluster; nil for a plugin.
	unsubscribe func()
	resolver    *Resolver
}

// useAgain adds a use, unless there is none.
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

// holder is a selector that has uses of clusters.
type holder interface {
	rpcconfig.Selector
	// held are the clusters that it has a use of.
	held() []*cluster
}

// hold returns the child with a name, with one more use. policy makes it if it is not there; it
// belongs to a cluster of that name unless that is "".
func (r *Resolver) hold(name, watched string, policy json.RawMessage) *cluster {
	c := r.clusters[name]
	if c == nil {
		c = &cluster{name: name, policy: policy, resolver: r}
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

// clear removes the clusters that nobody uses.
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

// send tells the channel how things are. It returns when the channel has taken it.
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
	// The channel may have its doubts about it; what is wrong is not for it to ask for again.
	_ = r.cc.UpdateState(rpcconfig.WithSelector(s, r.selector))
}

// serviceConfigJSON has a child for each cluster. Without any, RPCs fail.
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
	if err != nil { // a policy is no JSON, which the parsers of resources don't let happen
		logger.Errorf("the service config: %v", err)
		return "{}"
	}
	return string(js)
}
