// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// linearCaches are those of a plane, one for each type: it sends what is new of RouteConfigurations
// and endpoints, where the snapshot cache sends all that a client has asked for.
type linearCaches struct {
	cache.MuxCache
	t      *testing.T
	byType map[string]*cache.LinearCache
}

func newLinearPlane(t *testing.T) *plane {
	t.Helper()
	l := &linearCaches{t: t, byType: make(map[string]*cache.LinearCache)}
	l.Caches = make(map[string]cache.Cache)
	l.Classify = func(r *cache.Request) string { return r.GetTypeUrl() }
	for _, url := range []string{resourcev3.ListenerType, resourcev3.RouteType, resourcev3.ClusterType, resourcev3.EndpointType} {
		l.byType[url] = cache.NewLinearCache(url)
		l.Caches[url] = l.byType[url]
	}
	p := &plane{t: t, address: "127.0.0.1:0", linear: l}
	p.start()
	t.Cleanup(p.stop)
	return p
}

func (l *linearCaches) put(url string, list ...types.ResourceWithName) {
	l.t.Helper()
	for _, r := range list {
		if err := l.byType[url].UpdateResource(r.GetName(), r); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *linearCaches) putEndpoints(cluster string, of *backend) {
	l.t.Helper()
	if err := l.byType[resourcev3.EndpointType].UpdateResource(cluster, endpoints(cluster, of.port)); err != nil {
		l.t.Fatal(err)
	}
}

// TestLinearCaches has go-control-plane's linear caches lead clients of this module and of the
// published one: a response has what changed, and what it has not stays, but for Listeners and
// Clusters, of which a response has all.
func TestLinearCaches(t *testing.T) {
	buildsTwo(t)
	p := newLinearPlane(t)
	a, b, c := anyBackend(t, "a"), anyBackend(t, "b"), anyBackend(t, "c")
	clients := map[string]*sameClient{}
	for name, modfile := range map[string]string{"ours": "go.mod", "published": "published.mod"} {
		clients[name] = startSame(t, build(t, "same", modfile), bootstrapText(p))
	}
	l := p.linear
	both := []map[string]string{{"x": "a", "y": "b"}, {"x": "c", "y": "b"}, {"x": "c", "y": "c"}, {"x": "b", "y": "c"}, {"x": "b", "y": "Unavailable"}, {"x": "b", "y": "a"}}
	steps := []func(){
		func() {
			l.put(resourcev3.ListenerType, listener("x", "x-r"), listener("y", "y-r"))
			l.put(resourcev3.RouteType, route("x-r", "x-c"), route("y-r", "y-c"))
			l.put(resourcev3.ClusterType, cluster("x-c"), cluster("y-c"), cluster("z-c"))
			l.putEndpoints("x-c", a)
			l.putEndpoints("y-c", b)
			l.putEndpoints("z-c", c)
		},
		func() { l.putEndpoints("x-c", c) },
		func() { l.put(resourcev3.RouteType, route("y-r", "z-c")) },
		func() { l.putEndpoints("x-c", b) },
		func() { // of a type of which a response has all: who is not in it is gone
			if err := l.byType[resourcev3.ListenerType].DeleteResource("y"); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			l.put(resourcev3.ListenerType, listener("y", "y-r"))
			l.putEndpoints("z-c", a)
		},
	}
	for i, step := range steps {
		step()
		for _, name := range slices.Sorted(maps.Keys(clients)) {
			for _, target := range slices.Sorted(maps.Keys(both[i])) {
				awaitEnd(t, clients[name], target, both[i][target], fmt.Sprintf("step %d, %s", i, name))
			}
		}
	}
	if _, nacks := p.counts(); len(nacks) > 0 {
		t.Errorf("refused: %v", nacks)
	}
}

// awaitEnd has RPCs made until all of some end as they are to.
func awaitEnd(t *testing.T, c *sameClient, target, want, when string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		got := c.do(sameRPC{Target: "xds:///" + target, Method: "/s/m", Times: 5, Fast: true})
		if got[want] == 5 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: RPCs to %s end with %v, not %s", when, target, got, want)
		}
	}
}
