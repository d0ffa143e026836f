// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// silent is a pool whose control plane takes connections and says nothing.
func silent(t testing.TB) *xdsclient.Pool {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	b, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}]}],
		"node":{"id":"me"},"authorities":{"shops":{}}}`, lis.Addr()), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return xdsclient.NewPool(xdsclient.Options{
		Bootstrap: b, Filters: xdsclient.Filters(),
		Client: client.Config{ResourceTimeout: time.Hour, Backoff: func(int) time.Duration { return time.Hour }},
	})
}

func targetOf(t testing.TB, text string) resolver.Target {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return resolver.Target{URL: *u}
}

// channel is a resolver.ClientConn that keeps what it is told.
type channel struct {
	resolver.ClientConn
	mu     sync.Mutex
	states []resolver.State
	parsed int // service configs
}

type parsedConfig struct {
	serviceconfig.Config
	text string
}

// ParseServiceConfig implements resolver.ClientConn.
func (c *channel) ParseServiceConfig(js string) *serviceconfig.ParseResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parsed++
	return &serviceconfig.ParseResult{Config: &parsedConfig{text: js}}
}

// UpdateState implements resolver.ClientConn.
func (c *channel) UpdateState(s resolver.State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = append(c.states, s)
	return nil
}

// last returns the last state, and how many there were.
func (c *channel) last() (resolver.State, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.states) == 0 {
		return resolver.State{}, 0
	}
	return c.states[len(c.states)-1], len(c.states)
}

// fixture is a Resolver that the test tells what the channel goes by.
type fixture struct {
	testing.TB
	*Resolver
	cc   *channel
	pool *xdsclient.Pool
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{TB: t, cc: &channel{}, pool: silent(t)}
	r, err := Builder{Pool: f.pool}.Build(targetOf(t, "xds:///target"), f.cc, resolver.BuildOptions{Authority: "target"})
	if err != nil {
		t.Fatal(err)
	}
	f.Resolver = r.(*Resolver)
	t.Cleanup(r.Close)
	return f
}

// config is a configuration with the routes, of a virtual host for all, in the text form of its
// message, and clusters that are there.
func config(t testing.TB, routes string, clusters ...string) *dependency.Config {
	t.Helper()
	var m routev3.RouteConfiguration
	if err := prototext.Unmarshal([]byte(routes), &m); err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := resource.ParseRouteConfig(&resource.Context{}, raw)
	if err != nil {
		t.Fatal(err)
	}
	c := &dependency.Config{
		Listener: &resource.Listener{API: &resource.HTTP{}}, Routes: r, Host: r.VirtualHost("target"),
		Clusters: make(map[string]*dependency.Cluster),
	}
	for _, name := range clusters {
		c.Clusters[name] = &dependency.Cluster{Resource: &resource.Cluster{Name: name}}
	}
	return c
}

// host is a virtual host for every domain.
func host(fields string) string { return `virtual_hosts { domains: "*" ` + fields + ` }` }

// to is a route for a prefix of paths, with fields of its action.
func to(prefix, fields string) string {
	return fmt.Sprintf(`routes { match { prefix: %q } route { %s } } `, prefix, fields)
}

// children are the cluster manager's, as the last service config has them, and their policies.
func (f *fixture) children() map[string]string {
	f.Helper()
	s, _ := f.cc.last()
	if s.ServiceConfig == nil {
		f.Fatal("there is no service config")
	}
	var c struct {
		LB []map[string]struct {
			Children map[string]struct{ ChildPolicy json.RawMessage }
		} `json:"loadBalancingConfig"`
	}
	if err := json.Unmarshal([]byte(s.ServiceConfig.Config.(*parsedConfig).text), &c); err != nil {
		f.Fatal(err)
	}
	out := make(map[string]string)
	for name, child := range c.LB[0]["xds_cluster_manager_experimental"].Children {
		out[name] = string(child.ChildPolicy)
	}
	return out
}

// wantChildren checks their names.
func (f *fixture) wantChildren(want ...string) {
	f.Helper()
	var got []string
	for name := range f.children() {
		got = append(got, name)
	}
	slices.Sort(got)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		f.Errorf("children %q, want %q", got, want)
	}
}

// sel makes the channel's choice for an RPC.
func (f *fixture) sel(method string) (rpcconfig.Choice, error) {
	f.Helper()
	s, _ := f.cc.last()
	return rpcconfig.SelectorOf(s).Select(f.Context(), method, nil)
}

// must is sel for an RPC that has a route.
func (f *fixture) must(method string) rpcconfig.Choice {
	f.Helper()
	c, err := f.sel(method)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// flush returns when all that was queued is done.
func (f *fixture) flush() {
	done := make(chan struct{})
	f.work.Go(func() { close(done) })
	<-done
}
