// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

func TestBuildErrors(t *testing.T) {
	none := xdsclient.NewPool(xdsclient.Options{})
	if _, err := (Builder{Pool: none}).Build(targetOf(t, "xds:///t"), &channel{}, resolver.BuildOptions{}); !errors.Is(err, bootstrap.ErrNone) {
		t.Error(err)
	}
	p := silent(t)
	_, err := Builder{Pool: p}.Build(targetOf(t, "xds://others/t"), &channel{}, resolver.BuildOptions{})
	if err == nil || !strings.Contains(err.Error(), `authority "others"`) {
		t.Error(err)
	}
	if n := len(p.Clients()); n != 0 {
		t.Errorf("%d clients stay", n)
	}
	if (Builder{}).Scheme() != "xds" {
		t.Error("it is for another scheme")
	}
}

// TestA47Name: what is asked for first is the Listener that the bootstrap configuration makes of
// the target.
func TestA47Name(t *testing.T) {
	p := silent(t)
	r, err := Builder{Pool: p}.Build(targetOf(t, "xds://shops/a b"), &channel{}, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const want = "xdstp://shops/envoy.config.listener.v3.Listener/a%20b"
	if n := len(p.Clients()); n != 1 {
		t.Errorf("%d clients", n)
	}
	for name, c := range p.Clients() {
		if list := c.Resources(); len(list) != 1 || list[0].TypeURL != resource.ListenerURL || list[0].Name != want {
			t.Errorf("%s: %+v, want %s", name, list, want)
		}
	}
}

// TestClose: nothing is told any more, and the client is given back.
func TestClose(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("", `cluster: "a"`)), "a"), nil)
	choice := f.must("/s/m")
	_, before := f.cc.last()
	f.Close()
	f.Update(config(t, host(to("", `cluster: "b"`)), "b"), nil)
	f.Update(nil, errors.New("gone"))
	choice.Committed() // the last use of a cluster
	if _, n := f.cc.last(); n != before {
		t.Errorf("told %d times after Close", n-before)
	}
	if n := len(f.pool.Clients()); n != 0 {
		t.Errorf("%d clients stay", n)
	}
}

// TestA31ClustersStay: a cluster stays as long as a route names it, and an RPC that was sent there
// has not begun for good.
func TestA31ClustersStay(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("/a/", `cluster: "a"`)+to("", `cluster: "b"`)), "a", "b"), nil)
	f.wantChildren("cluster:a", "cluster:b")
	if got := f.children()["cluster:a"]; got != `[{"cds_experimental":{"cluster":"a"}}]` {
		t.Error(got)
	}
	one, two := f.must("/a/m"), f.must("/a/m")
	f.Update(config(t, host(to("", `cluster: "b"`)), "b"), nil)
	f.wantChildren("cluster:a", "cluster:b")
	one.Committed()
	f.flush()
	f.wantChildren("cluster:a", "cluster:b")
	two.Committed()
	f.flush()
	f.wantChildren("cluster:b")
	// One that is named again meanwhile is the same.
	three := f.must("/b/m")
	f.Update(config(t, host(to("", `cluster: "c"`)), "c"), nil)
	f.Update(config(t, host(to("", `cluster: "b"`)), "b"), nil)
	three.Committed()
	f.flush()
	f.wantChildren("cluster:b")
}

// TestConfigBeforeSubscription: a Config that was made before an RPC's cluster was subscribed to does not take the
// cluster from the RPC.
func TestConfigBeforeSubscription(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("", `cluster: "a"`)), "a"), nil)
	rpc := f.must("/a/m")
	f.Update(config(t, host(to("", `cluster: "b"`)), "b"), nil)
	f.wantChildren("cluster:a", "cluster:b")
	s, _ := f.cc.last()
	if c := dependency.Of(s).Config.Clusters; c["a"] == nil || c["b"] == nil {
		t.Errorf("the channel gets clusters %v", c)
	}
	rpc.Committed()
	f.flush()
	f.wantChildren("cluster:b")
}

// TestOnlyNews: endpoints that change change nothing about routes; a cluster does.
func TestOnlyNews(t *testing.T) {
	f := newFixture(t)
	c := config(t, host(to("", `cluster: "a"`)), "a")
	f.Update(c, nil)
	first, n := f.cc.last()
	moved := *c
	moved.Clusters = map[string]*dependency.Cluster{"a": {Resource: c.Clusters["a"].Resource, Endpoints: &resource.Endpoints{}}}
	f.Update(&moved, nil)
	second, m := f.cc.last()
	if m != n+1 || dependency.Of(second).Config != &moved {
		t.Errorf("told %d times", m-n)
	}
	if rpcconfig.SelectorOf(first) != rpcconfig.SelectorOf(second) || first.ServiceConfig != second.ServiceConfig || f.cc.parsed != 1 {
		t.Errorf("routes are new, or %d service configs were made", f.cc.parsed)
	}
	other := *c
	other.Clusters = map[string]*dependency.Cluster{"a": {Resource: &resource.Cluster{Name: "a"}}}
	f.Update(&other, nil)
	third, _ := f.cc.last()
	if rpcconfig.SelectorOf(third) == rpcconfig.SelectorOf(second) {
		t.Error("routes don't know of the cluster's news")
	}
	if third.ServiceConfig != second.ServiceConfig || f.cc.parsed != 1 {
		t.Errorf("%d service configs were made", f.cc.parsed)
	}
}

// failure is what picks of an RPC fail with; nil if it has a cluster.
func failure(t *testing.T, c rpcconfig.Choice) error {
	t.Helper()
	i := call.From(c.Context)
	if i == nil || i.Failed == nil {
		return nil
	}
	return i.Failed()
}

// TestA57Errors: without anything to go by RPCs fail, and say which node it is, unless they wait for
// ready: these are told when to choose anew. RPCs under way keep their clusters.
func TestA57Errors(t *testing.T) {
	f := newFixture(t)
	f.Update(nil, errors.New("no Listener"))
	first := f.must("/s/m")
	f.Update(nil, errors.New("no RouteConfiguration"))
	second := f.must("/s/m")
	for c, want := range map[*rpcconfig.Choice]string{&first: "no Listener", &second: "no RouteConfiguration"} {
		err := failure(t, *c)
		if status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "[xDS node id: me] "+want {
			t.Errorf("%v, want %q", err, want)
		}
		select {
		case <-c.Later:
			t.Error("there is nothing to choose from")
		default:
		}
	}
	f.wantChildren()
	f.Update(config(t, host(to("", `cluster: "a"`)), "a"), nil)
	f.wantChildren("cluster:a")
	for _, c := range []rpcconfig.Choice{first, second} {
		select {
		case <-c.Later:
		default:
			t.Error("those that wait are not told")
		}
	}
	choice := f.must("/s/m")
	f.Update(nil, errors.New("gone"))
	if err := failure(t, f.must("/s/m")); err == nil {
		t.Error("there is something to go by")
	}
	if err := failure(t, choice); err != nil {
		t.Error(err)
	}
	f.wantChildren("cluster:a")
	choice.Committed()
	f.flush()
	f.wantChildren()
}

// TestPlugins: a plugin is a child of its own, by its name, with its configuration.
func TestPlugins(t *testing.T) {
	f := newFixture(t)
	c := config(t, host(to("", `cluster: "a"`)), "a")
	route := &c.Host.Routes[0]
	route.Clusters, route.Plugin = nil, "p"
	c.Routes.Plugins = map[string]resource.Plugin{"p": resource.Plugin(`[{"rls_experimental":{}}]`)}
	f.Update(c, nil)
	f.wantChildren("cluster_specifier_plugin:p")
	if got := f.children()["cluster_specifier_plugin:p"]; got != `[{"rls_experimental":{}}]` {
		t.Error(got)
	}
	choice := f.must("/s/m")
	next := *c
	next.Listener = &resource.Listener{API: &resource.HTTP{}}
	routes := *c.Routes
	routes.Plugins = map[string]resource.Plugin{"p": resource.Plugin(`[{"rls_experimental":{"x":1}}]`)}
	next.Routes = &routes
	f.Update(&next, nil)
	if got := f.children()["cluster_specifier_plugin:p"]; !strings.Contains(got, `"x":1`) {
		t.Errorf("%s: the plugin's news is lost", got)
	}
	choice.Committed()
}

// TestA74ClustersAfterError: after an error, the policies of clusters that RPCs hold are told what is new about these.
func TestA74ClustersAfterError(t *testing.T) {
	f := newFixture(t)
	f.Update(config(t, host(to("", `cluster: "a"`)), "a"), nil)
	held := f.must("/s/m")
	gone := errors.New("gone")
	var selectors []any
	for range 2 {
		c := &dependency.Config{Clusters: map[string]*dependency.Cluster{"a": {Resource: &resource.Cluster{Name: "a"}}}}
		f.Update(c, gone)
		f.flush()
		f.wantChildren("cluster:a")
		s, _ := f.cc.last()
		if dependency.Of(s).Config != c {
			t.Error("the policies have another configuration")
		}
		selectors = append(selectors, f.selector)
	}
	if selectors[0] != selectors[1] {
		t.Error("RPCs begin anew for what is not theirs")
	}
	_, before := f.cc.last()
	f.Update(nil, errors.New("gone for another reason"))
	f.flush()
	if _, n := f.cc.last(); n == before || f.selector == selectors[0] {
		t.Error("another reason is not told")
	}
	held.Committed()
}
