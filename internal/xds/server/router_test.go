// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	rbacpb "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rbac/rbacxds"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// everybody is the configuration of a filter that lets all RPCs in, or none.
func everybody(t testing.TB, action rbacpb.RBAC_Action) *httpfilter.RBACConfig {
	t.Helper()
	p, err := rbacxds.Parse(&rbacpb.RBAC{Action: action, Policies: map[string]*rbacpb.Policy{"p": {
		Permissions: []*rbacpb.Permission{{Rule: &rbacpb.Permission_Any{Any: true}}},
		Principals:  []*rbacpb.Principal{{Identifier: &rbacpb.Principal_Any{Any: true}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return &httpfilter.RBACConfig{Policy: p}
}

// incoming is the context of an RPC.
func incoming(ctx context.Context, authority ...string) context.Context {
	ctx = peer.NewContext(ctx, &peer.Peer{})
	return metadata.NewIncomingContext(ctx, metadata.MD{":authority": authority})
}

func path(p string) resource.Route {
	return resource.Route{Path: match.Exact(p), Fraction: match.All, Action: resource.NonForwarding}
}

func TestA36Routing(t *testing.T) {
	forwards, overridden := path("/s/forwards"), path("/s/overridden")
	forwards.Action = resource.Forward
	kind := httpfilter.RBAC{}
	deny, allow := everybody(t, rbacpb.RBAC_DENY), everybody(t, rbacpb.RBAC_ALLOW)
	overridden.Overrides = resource.Overrides{"rbac": {Kind: kind, Config: deny}}
	config := &resource.RouteConfig{VirtualHosts: []resource.VirtualHost{
		{Domains: []string{"a.test"}, Routes: []resource.Route{path("/s/open"), forwards, overridden}},
		{Domains: []string{"b.test"}, Routes: []resource.Route{path("/s/open")}, Overrides: resource.Overrides{"rbac": {Kind: kind, Config: deny}}},
	}}
	l := listener(config, resource.Filter{Name: "rbac", Kind: kind, Config: allow}, resource.Filter{Name: "router", Kind: httpfilter.Router{}})
	defer l.Close()
	c, _ := accept(t, l)
	defer c.Close()
	r := c.chain.router
	for _, tt := range []struct {
		authority, method string
		code              codes.Code
		text              string
	}{
		{"a.test", "/s/open", codes.OK, ""},
		{"A.TEST", "/s/open", codes.OK, ""},
		{"a.test", "/s/other", codes.Unavailable, "Route"},
		{"c.test", "/s/open", codes.Unavailable, "Virtual Host"},
		{"a.test", "/s/forwards", codes.Unavailable, "non forwarding"},
		{"a.test", "/s/overridden", codes.PermissionDenied, "matched a deny policy \"p\""},
		{"b.test", "/s/open", codes.PermissionDenied, "matched a deny policy \"p\""},
	} {
		_, err := r.Route(incoming(t.Context(), tt.authority), tt.method)
		if status.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s%s: %v", tt.authority, tt.method, err)
		}
	}
	if _, err := r.Route(incoming(t.Context()), "/s/open"); status.Code(err) != codes.Unavailable {
		t.Errorf("no authority: %v", err)
	}
	if n := len(r.ready.Load().filters); n != 4 {
		t.Errorf("%d routes have filters", n)
	}
	r.routes.current.Store(&routing{err: errors.New("not there")})
	if _, err := r.Route(incoming(t.Context(), "a.test"), "/s/open"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "not there") {
		t.Error(err)
	}
}

// slow is a kind of filters that take long to be made. Each sends something to begun first. What comes from proceed
// says whether the goroutine goes on.
type slow struct {
	httpfilter.RBAC
	begun   chan struct{}
	proceed chan bool
}

func (s *slow) Server(i httpfilter.Instance) rpcconfig.Filter {
	s.begun <- struct{}{}
	if !<-s.proceed {
		runtime.Goexit()
	}
	return s.RBAC.Server(i)
}

// TestSlowFilter: while an RPC makes the filters others wait for it, no longer than their contexts last. If it exits, another
// one makes them.
func TestSlowFilter(t *testing.T) {
	config := &resource.RouteConfig{VirtualHosts: []resource.VirtualHost{{Domains: []string{"*"}, Routes: []resource.Route{path("/s/m")}}}}
	kind := &slow{begun: make(chan struct{}), proceed: make(chan bool)}
	l := listener(config, resource.Filter{Name: "slow", Kind: kind, Config: everybody(t, rbacpb.RBAC_ALLOW)}, resource.Filter{Name: "router", Kind: httpfilter.Router{}})
	defer l.Close()
	c, _ := accept(t, l)
	defer c.Close()
	results := make(chan error)
	route := func(ctx context.Context) {
		_, err := c.chain.router.Route(incoming(ctx, "any"), "/s/m")
		results <- err
	}
	go route(t.Context()) // which exits
	<-kind.begun
	over, cancel := context.WithCancel(t.Context())
	cancel()
	go route(over)
	if err := <-results; status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	go route(t.Context())
	kind.proceed <- false
	<-kind.begun
	go route(t.Context())
	kind.proceed <- true
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestRouteAllocs: an RPC that nothing is asked of but its path costs nothing.
func TestRouteAllocs(t *testing.T) {
	l := listener(&resource.RouteConfig{VirtualHosts: []resource.VirtualHost{{Domains: []string{"*"}, Routes: []resource.Route{path("/s/m")}}}})
	defer l.Close()
	c, _ := accept(t, l)
	defer c.Close()
	ctx := incoming(t.Context(), "any")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.chain.router.Route(ctx, "/s/m"); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFaults(t *testing.T) {
	l := listener(&resource.RouteConfig{VirtualHosts: []resource.VirtualHost{{Domains: []string{"*"}, Routes: []resource.Route{path("/s/m")}}}})
	defer l.Close()
	if err := l.current.faults(); err != nil {
		t.Error(err)
	}
	forwards := path("/s/m")
	forwards.Action = resource.Forward
	for _, r := range []*routing{
		{err: errors.New("not there")},
		{config: &resource.RouteConfig{VirtualHosts: []resource.VirtualHost{{Domains: []string{"*"}, Routes: []resource.Route{forwards}}}}},
	} {
		for _, c := range l.current.chains {
			c.router.routes.current.Store(r)
		}
		if err := l.current.faults(); err == nil {
			t.Errorf("%+v: nothing is wrong", r)
		}
	}
}
