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

// annotate says which node the program is, as control planes know it.
func (r *Resolver) annotate(err error) error {
	return fmt.Errorf("[xDS node id: %s] %w", r.client.Bootstrap().NodeID(), err)
}

// failing is the selector of a channel that has nothing to go by. Its RPCs fail when they pick; those
// that wait for ready wait for another selector.
type failing struct {
	err  error
	over chan struct{} // closed when there is something to go by again; one for those that follow each other
}

// Select implements rpcconfig.Selector.
func (f *failing) Select(ctx context.Context, _ string) (rpcconfig.Choice, error) {
	c := rpcconfig.Choice{Context: call.With(ctx, &call.Info{Failed: f.failed})}
	select {
	case <-f.over: // nobody is told twice
	default:
		c.Later, c.LaterErr = f.over, f.err
	}
	return c, nil
}

// failed returns a status: whoever picks with it must not wait for another picker, which finds no
// cluster for the RPC either.
func (f *failing) failed() error { return status.Error(codes.Unavailable, f.err.Error()) }

func (*failing) held() []*cluster { return nil }

// routing is the selector that goes by routes. It does not change.
type routing struct {
	resolver *Resolver
	config   *dependency.Config
	host     *resource.VirtualHost
	routes   []route // of host, in the same order
	uses     []*cluster
}

// route is a route with what all of its RPCs share.
type route struct {
	method  serviceconfig.MethodConfig
	targets []*target // one for each cluster, or that of the plugin
}

// target is where RPCs of a route go.
type target struct {
	cluster     *cluster
	name        string            // of the cluster; "" for a plugin
	resource    *resource.Cluster // nil if it can't be had
	interceptor rpcconfig.Interceptor
}

// newRouting makes the selector for a configuration, with uses of all clusters that its routes
// name.
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

// fits reports whether newRouting would make the same of the configuration.
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

// methodConfig stands in for the service config of methods (A31, A44).
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

// interceptor is what RPCs for a cluster of a route pass through (A39). w is nil for a plugin.
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

// refusal is the status of an RPC that the routes turn away.
func (r *Resolver) refusal(why string) error {
	return status.Error(codes.Unavailable, r.annotate(errors.New(why)).Error())
}

// Select implements rpcconfig.Selector.
func (s *routing) Select(ctx context.Context, method string) (rpcconfig.Choice, error) {
	request := resource.Request{Path: method, Outgoing: ctxkey.OutgoingFrom(ctx)}
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
		hash = rand.Uint64() // gRFC A42: ring_hash takes RPCs of no other origin
	}
	rpc.Context = ringhash.WithHash(ctx, hash)
	return rpcconfig.Choice{Context: rpc, Method: to.method, Committed: rpc.committed, Interceptor: t.interceptor}, nil
}

// find returns the index of the first route for the request, -1 if there is none.
func (s *routing) find(r *resource.Request) int {
	for i := range s.host.Routes {
		if s.host.Routes[i].Match(r) {
			return i
		}
	}
	return -1
}

// rpc is the context of an RPC: it has a use of its cluster until no attempt of it picks any
// more.
type rpc struct {
	context.Context
	call.Info
	route   *route
	cluster *cluster
}

// newRPC is called while the selector has a use of the cluster.
func newRPC(ctx context.Context, to *route, t *target, from *resource.Route) *rpc {
	r := &rpc{Context: ctx, route: to}
	r.Route = from
	r.SetChooser(r)
	t.cluster.users.Add(1)
	r.send(t)
	return r
}

// send has the RPC go to a target, of whose cluster it has a use.
func (r *rpc) send(t *target) {
	r.cluster = t.cluster
	r.Child, r.Info.Cluster, r.Resource = t.cluster.name, t.name, t.resource
}

// ChooseCluster implements call.Chooser. A cluster that nobody uses any more is not there.
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
