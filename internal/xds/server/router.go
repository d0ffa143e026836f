// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// router routes the RPCs of a filter chain, and applies filters to them.
type router struct {
	node    string // stands before what RPCs fail with
	routes  *routes
	filters []resource.Filter
	memory  *httpfilter.Memory

	mu    sync.Mutex // held while made is made
	ready atomic.Pointer[made]
}

// made is a routing with the filters of each route.
type made struct {
	of      *routing
	filters map[*resource.Route]rpcconfig.Filters // routes without filters are not in it
	headers bool                                  // whether a route looks at headers
	all     *resource.VirtualHost                 // the only one, which is for all hosts; nil if there is none
}

// Route implements rpcconfig.Router. An RPC that nothing is configured for ends with UNAVAILABLE
// (A36).
func (r *router) Route(ctx context.Context, method string) (context.Context, error) {
	m := r.settled()
	if m.of.err != nil {
		return nil, r.unavailable(fmt.Sprintf("RouteConfiguration %q: %v", r.routes.name, m.of.err))
	}
	route, lacks := m.route(ctx, method)
	if route == nil {
		return nil, r.unavailable("the incoming RPC did not match a configured " + lacks)
	}
	ctx, err := m.filters[route].Route(ctx, method)
	if err == nil && route.Action != resource.NonForwarding {
		err = r.unavailable("the incoming RPC matched to a route that was not of action type non forwarding")
	}
	if err != nil {
		return nil, err
	}
	return ctx, nil
}

func (r *router) unavailable(text string) error {
	return status.Error(codes.Unavailable, r.node+text)
}

// prefixOf names the node in errors, for those who have to find it among many.
func prefixOf(node string) string { return "[xDS node id: " + node + "]: " }

// route returns the route of an RPC; without one, what there is none of.
func (m *made) route(ctx context.Context, method string) (route *resource.Route, lacks string) {
	vh := m.all
	if vh == nil {
		authority := metadata.ValueFromIncomingContext(ctx, ":authority")
		if len(authority) == 1 {
			vh = m.of.config.VirtualHost(authority[0])
		}
		if vh == nil {
			return nil, "Virtual Host"
		}
	}
	request := resource.Request{Path: method}
	if m.headers {
		request.Metadata, _ = metadata.FromIncomingContext(ctx)
	}
	return vh.Route(&request), "Route"
}

// settled returns what goes with the routes of the moment, which it makes if they are new.
func (r *router) settled() *made {
	now := r.routes.current.Load()
	if m := r.ready.Load(); m != nil && m.of == now {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now = r.routes.current.Load()
	m := r.ready.Load()
	if m == nil || m.of != now {
		m = r.make(now)
		r.ready.Store(m)
	}
	return m
}

func (r *router) make(of *routing) *made {
	m := &made{of: of, filters: make(map[*resource.Route]rpcconfig.Filters)}
	if of.err != nil {
		return m
	}
	if vhs := of.config.VirtualHosts; len(vhs) == 1 && slices.Contains(vhs[0].Domains, "*") {
		m.all = &vhs[0]
	}
	b := filterMaker{router: r, filters: make(map[filterKey]rpcconfig.Filter)}
	for i := range of.config.VirtualHosts {
		vh := &of.config.VirtualHosts[i]
		for j := range vh.Routes {
			route := &vh.Routes[j]
			m.headers = m.headers || len(route.Headers) > 0
			if fs := b.of(vh, route); len(fs) > 0 {
				m.filters[route] = fs
			}
		}
	}
	return m
}

// filterMaker makes each filter once for all routes that have it with the same configuration.
type filterMaker struct {
	router  *router
	filters map[filterKey]rpcconfig.Filter
}

type filterKey struct {
	index    int
	override httpfilter.Config // a pointer, or nil
}

func (b *filterMaker) of(vh *resource.VirtualHost, route *resource.Route) (list rpcconfig.Filters) {
	for i := range b.router.filters {
		f := &b.router.filters[i]
		key := filterKey{i, resource.OverrideOf(f, vh, route, nil)}
		made, ok := b.filters[key]
		if !ok {
			made = f.Server(httpfilter.Instance{Override: key.override, Memory: b.router.memory})
			b.filters[key] = made
		}
		if made != nil {
			list = append(list, made)
		}
	}
	return list
}
