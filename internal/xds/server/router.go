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

// router routes the RPCs of one filter chain, and applies the chain's filters to them.
type router struct {
	node    string // the prefix of errors, which names the xDS node
	routes  *routes
	filters []resource.Filter
	memory  *httpfilter.Memory

	ready atomic.Pointer[made]

	mu     sync.Mutex // guards making; it is not held while filters are made, which may call code of the program
	making *making    // the last one; nil if there was none, or if it has come to nothing
}

// making is the work of the RPC that makes what is new.
type making struct {
	of   *routing
	done chan struct{} // closed when made is set
	made *made         // nil if the RPC's goroutine has exited
}

// made is a routing together with the filters of each of its routes.
type made struct {
	of      *routing
	filters map[*resource.Route]rpcconfig.Filters // has only routes with filters
	headers bool                                  // some route matches on headers
	all     *resource.VirtualHost                 // the only virtual host, if it is for all domains; otherwise nil
}

// Route implements rpcconfig.Router. An RPC for which nothing is configured ends with
// UNAVAILABLE (A36).
func (r *router) Route(ctx context.Context, method string) (context.Context, error) {
	m, err := r.settled(ctx)
	if err != nil {
		return nil, err
	}
	if m.of.err != nil {
		return nil, r.unavailable(fmt.Sprintf("RouteConfiguration %q: %v", r.routes.name, m.of.err))
	}
	route, lacks := m.route(ctx, method)
	if route == nil {
		return nil, r.unavailable("the incoming RPC did not match a configured " + lacks)
	}
	ctx, err = m.filters[route].Route(ctx, method)
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

// route returns the route of an RPC. If there is none, it returns what is missing: the virtual
// host or the route.
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

// settled returns what has been made from the current routes. If the routes are new, one RPC makes that, and others
// wait for it, but not longer than their contexts last.
func (r *router) settled(ctx context.Context) (*made, error) {
	for {
		now := r.routes.current.Load()
		if m := r.ready.Load(); m != nil && m.of == now {
			return m, nil
		}
		w, first := r.begin()
		if first {
			r.finish(w)
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		if w.made != nil {
			return w.made, nil
		}
	}
}

// begin returns the making of what the current routes need, which may be over. If first is true, the caller must
// call finish.
func (r *router) begin() (w *making, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.routes.current.Load(); r.making == nil || r.making.of != now {
		r.making, first = &making{of: now, done: make(chan struct{})}, true
	}
	return r.making, first
}

func (r *router) finish(w *making) {
	defer close(w.done)
	defer func() { // also if a filter panics or ends the goroutine
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case r.making != w: // the routes have changed again
		case w.made == nil:
			r.making = nil
		default:
			r.ready.Store(w.made)
		}
	}()
	w.made = r.make(w.of)
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

// filterMaker makes filters. All routes that have a filter with the same configuration share one
// instance.
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
