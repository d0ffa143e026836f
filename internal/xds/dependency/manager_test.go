// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// silent returns a client whose control plane takes connections and says nothing.
func silent(t *testing.T) *xdsclient.Client {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	b, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}]}]}`, lis.Addr()), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := xdsclient.NewPool(xdsclient.Options{Bootstrap: b, Client: client.Config{ResourceTimeout: time.Hour}})
	c, release, err := pool.Client("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return c
}

// told counts Configs.
type told int

// Update implements Watcher.
func (t *told) Update(*Config, error) { *t++ }

// naming is a Listener whose routes name clusters.
func naming(clusters ...string) *resource.Listener {
	var list []resource.WeightedCluster
	for _, c := range clusters {
		list = append(list, resource.WeightedCluster{Name: c})
	}
	return &resource.Listener{API: &resource.HTTP{Routes: &resource.RouteConfig{VirtualHosts: []resource.VirtualHost{
		{Domains: []string{"*"}, Routes: []resource.Route{{Clusters: list}}},
	}}}}
}

// TestWatchesOfRoundsWithoutEnd: a control plane that names other clusters again and again, and sends none, leaves no watches
// of those that it no longer names. What the channel goes by is watched all the same.
func TestWatchesOfRoundsWithoutEnd(t *testing.T) {
	c := silent(t)
	var n told
	m := New(c, Options{Authority: "target", Watcher: &n})
	defer m.Close()
	m.listener = &watch[*resource.Listener]{agenda: &m.agenda, cancel: func() {}, has: true}
	name := func(clusters ...string) {
		m.mu.Lock()
		m.listener.value = naming(clusters...)
		m.mu.Unlock()
		m.update()
	}
	know := func(cluster string) {
		m.mu.Lock()
		m.clusters[cluster].err = errors.New("none")
		m.mu.Unlock()
		m.update()
	}
	watched := func(want ...string) {
		t.Helper()
		m.mu.Lock()
		defer m.mu.Unlock()
		if got := slices.Sorted(maps.Keys(m.clusters)); !slices.Equal(got, want) {
			t.Errorf("%q are watched, want %q", got, want)
		}
	}
	name("first")
	know("first")
	name("first", "second") // needs the first, too, which stays the one that the channel goes by
	for i := range 100 {
		name(fmt.Sprint("other", i))
	}
	watched("first", "other99")
	know("other99")
	watched("other99")
	if n != 2 {
		t.Errorf("%d Configs", n)
	}
}

// TestA74SubscribedAfterError: a cluster that RPCs hold is watched, and comes with the error, when the Listener is gone.
func TestA74SubscribedAfterError(t *testing.T) {
	c := silent(t)
	var got result
	m := New(c, Options{Authority: "target", Watcher: &got})
	defer m.Close()
	m.listener = &watch[*resource.Listener]{agenda: &m.agenda, cancel: func() {}, has: true}
	m.listener.value = naming("held", "other")
	m.update()
	knows := func(cluster, what string) {
		m.mu.Lock()
		m.clusters[cluster].err = errors.New(what)
		m.mu.Unlock()
		m.update()
	}
	knows("other", "none")
	release := m.Subscribe("held")
	defer release()
	updated := make(chan struct{}) // which Subscribe has asked for
	m.updates.Go(func() { close(updated) })
	<-updated
	m.mu.Lock()
	m.listener.err = errors.New("gone")
	m.mu.Unlock()
	m.update()
	if got.n != 1 || got.err == nil || got.config != nil {
		t.Fatalf("the error waits for what is not known yet: %+v", got)
	}
	knows("held", "first")
	knows("held", "second")
	knows("held", "second")
	if held := got.config.Clusters["held"]; got.n != 3 || held == nil || held.Err == nil || len(got.config.Clusters) != 1 {
		t.Errorf("%+v, %+v", got, got.config)
	}
	m.mu.Lock()
	watched := slices.Sorted(maps.Keys(m.clusters))
	m.mu.Unlock()
	if !slices.Equal(watched, []string{"held"}) {
		t.Errorf("%q are watched", watched)
	}
}

// result has what a Watcher was told last, and how often it was.
type result struct {
	n      int
	config *Config
	err    error
}

// Update implements Watcher.
func (r *result) Update(c *Config, err error) { *r = result{r.n + 1, c, err} }
