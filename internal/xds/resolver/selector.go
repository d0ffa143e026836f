// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/ringhash"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/status"
)

// annotate adds to err the id of the xDS node, by which control planes know the program.
func (r *Resolver) annotate(err error) error {
	return fmt.Errorf("%s %w", r.client.Bootstrap().NodeLabel(), err)
}

// failing is the selector of a channel that has no usable configuration. Its RPCs fail when they
// pick. RPCs that wait for ready wait for another selector.
type failing struct {
	err  error
	over chan struct{} // closed when there is a usable configuration again; successive failing selectors share it
}

// Select implements rpcconfig.Selector.
func (f *failing) Select(ctx context.Context, _ string, _ *ctxkey.Outgoing) (rpcconfig.Choice, error) {
	c := rpcconfig.Choice{Context: call.With(ctx, &call.Info{Failed: f.failed})}
	select {
	case <-f.over: // over is closed, so there is nothing to wait for
	default:
		c.Later, c.LaterErr = f.over, f.err
	}
	return c, nil
}

// failed returns a status, which ends the RPC. The RPC must not wait for another picker, because that
// would not find a cluster for it either.
func (f *failing) failed() error { return status.Error(codes.Unavailable, f.err.Error()) }

func (*failing) held() []*cluster { return nil }

// routing is the selector that follows the routes of a configuration. It is immutable.
type routing struct {
	resolver *Resolver
	config   *dependency.Config
	host     *resource.VirtualHost
	routes   []route // of host, in the same order
	uses     []*cluster
}

// route is what all RPCs of a route share.
type route struct {
	method  serviceconfig.MethodConfig
	targets []*target // one for each cluster of the route, or one for its plugin
}

// target is a cluster or plugin to which a route sends RPCs.
type target struct {
	cluster     *cluster
	name        string            // of the cluster; "" for a plugin
	resource    *resource.Cluster // nil if the resource is not available
	interceptor rpcconfig.Interceptor
}

// newRouting returns the selector for a configuration. The selector has a use of each cluster that
// its routes name.
func newRouting(r *Resolver, c *dependency.Config) *routing {
	r.memory.Renew()
	s := &routing{resolver: r, config: c, host: c.Host, routes: make([]route, len(c.Host.Routes))}
	for i := range c.Host.Routes {
		from := &c.Host.Routes[i]
		if from.Action != resource.Forward {
			continue
		}
		to := &s.routes[i]
		to.method = methodConfig(c, from)
		if from.Plugin != "" {
			t := &target{cluster: r.holdPlugin(c, from.Plugin)}
			t.interceptor = r.interceptor(c, from, nil)
			to.targets = []*target{t}
			s.uses = append(s.uses, t.cluster)
			continue
		}
		for j := range from.Clusters {
			w := &from.Clusters[j]
			t := &target{cluster: r.holdCluster(w.Name), name: w.Name, resource: resourceOf(c, w.Name)}
			t.interceptor = r.interceptor(c, from, w)
			to.targets = append(to.targets, t)
			s.uses = append(s.uses, t.cluster)
		}
	}
	r.memory.Settle()
	return s
}

func (s *routing) held() []*cluster { return s.uses }

// fits reports whether newRouting would return the same selector for c, so that s can stay in use.
func (s *routing) fits(c *dependency.Config) bool {
	if s.config.Listener != c.Listener || s.config.Host != c.Host {
		return false
	}
	for i := range s.routes {
		for _, t := range s.routes[i].targets {
			if t.name != "" && t.resource != resourceOf(c, t.name) {
				return false
			}
		}
	}
	return true
}

func resourceOf(c *dependency.Config, cluster string) *resource.Cluster {
	if known := c.Clusters[cluster]; known != nil {
		return known.Resource
	}
	return nil
}

func (r *Resolver) holdCluster(name string) *cluster {
	if c := r.clusters["cluster:"+name]; c != nil {
		return r.hold(c.name, name, c.policy)
	}
	policy, _ := json.Marshal([]any{map[string]any{"cds_experimental": map[string]string{"cluster": name}}})
	return r.hold("cluster:"+name, name, policy)
}

func (r *Resolver) holdPlugin(c *dependency.Config, name string) *cluster {
	return r.hold("cluster_specifier_plugin:"+name, "", json.RawMessage(c.Routes.Plugins[name]))
}

// methodConfig returns what takes the place of the service config's entry for a method (A31, A44).
func methodConfig(c *dependency.Config, t *resource.Route) (m serviceconfig.MethodConfig) {
	d := c.Listener.API.MaxDuration
	if t.HasMaxDuration {
		d = t.MaxDuration
	}
	if d > 0 {
		m.Timeout = &d
	}
	if p := c.Host.RetryOf(t); p != nil {
		m.RetryPolicy = &serviceconfig.RetryPolicy{
			MaxAttempts: p.MaxAttempts, InitialBackoff: p.InitialBackoff, MaxBackoff: p.MaxBackoff,
			BackoffMultiplier: 2, RetryableStatusCodes: p.Codes,
		}
	}
	return m
}

// interceptor returns the filters through which RPCs for a cluster of a route pass (A39). w is nil
// for a plugin.
func (r *Resolver) interceptor(c *dependency.Config, t *resource.Route, w *resource.WeightedCluster) rpcconfig.Interceptor {
	var list []rpcconfig.Interceptor
	for i := range c.Listener.API.Filters {
		f := &c.Listener.API.Filters[i]
		if in := f.Client(httpfilter.Instance{Override: resource.OverrideOf(f, c.Host, t, w), Memory: &r.memory, Channel: &r.known}); in != nil {
			list = append(list, in)
		}
	}
	return rpcconfig.Chain(list...)
}

// refusal returns the status of an RPC that the routes do not accept.
func (r *Resolver) refusal(why string) error {
	return status.Error(codes.Unavailable, r.annotate(errors.New(why)).Error())
}

// Select implements rpcconfig.Selector.
func (s *routing) Select(ctx context.Context, method string, md *ctxkey.Outgoing) (rpcconfig.Choice, error) {
	request := resource.Request{Path: method, Outgoing: md}
	i := s.find(&request)
	if i < 0 {
		return rpcconfig.Choice{}, s.resolver.refusal("no matching route was found")
	}
	from, to := &s.host.Routes[i], &s.routes[i]
	if len(to.targets) == 0 {
		return rpcconfig.Choice{}, s.resolver.refusal("matched route does not have a supported route action type")
	}
	t := to.targets[0]
	if len(to.targets) > 1 {
		t = to.targets[from.ClusterIndex(&request)]
	}
	rpc := newRPC(ctx, to, t, from)
	hash, ok := from.Hash(&request, s.resolver.channel)
	if !ok {
		hash = rand.Uint64() // gRFC A42: without a hash of the route, ring_hash gets a random one
	}
	rpc.Context = ringhash.WithHash(ctx, hash)
	return rpcconfig.Choice{Context: rpc, Method: to.method, Committed: rpc.committed, Interceptor: t.interceptor}, nil
}

// find returns the index of the first route that matches the request, or -1 if none does.
func (s *routing) find(r *resource.Request) int {
	for i := range s.host.Routes {
		if s.host.Routes[i].Match(r) {
			return i
		}
	}
	return -1
}

// rpc is the context of an RPC. It has a use of the RPC's cluster until no attempt of the RPC will
// pick any more.
type rpc struct {
	context.Context
	call.Info
	route   *route
	cluster *cluster
}

// newRPC returns the context of an RPC for target t. The caller's selector must have a use of t's
// cluster.
func newRPC(ctx context.Context, to *route, t *target, from *resource.Route) *rpc {
	r := &rpc{Context: ctx, route: to}
	r.Route = from
	r.SetChooser(r)
	t.cluster.users.Add(1)
	r.send(t)
	return r
}

// send directs the RPC to t. The RPC must already have a use of t's cluster.
func (r *rpc) send(t *target) {
	r.cluster = t.cluster
	r.Child, r.Info.Cluster, r.Resource = t.cluster.name, t.name, t.resource
}

// ChooseCluster implements call.Chooser. It does not find a cluster that has no use any more.
func (r *rpc) ChooseCluster(name string) bool {
	for _, t := range r.route.targets {
		if t.name == name && t.cluster.useAgain() {
			r.cluster.done()
			r.send(t)
			return true
		}
	}
	return false
}

func (r *rpc) committed() { r.cluster.done() }

// Value implements context.Context.
func (r *rpc) Value(key any) any {
	if key == (call.Key{}) {
		return &r.Info
	}
	return r.Context.Value(key)
}

// String keeps fmt from walking through the parents by reflection.
func (r *rpc) String() string { return "context of an RPC by way of xDS" }
