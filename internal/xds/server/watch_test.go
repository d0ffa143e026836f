// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"net/netip"
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

// TestWatchesOfEditionsThatNeverCame: a control plane that names other RouteConfigurations again and again, and sends none,
// leaves no watches of those that it no longer names.
func TestWatchesOfEditionsThatNeverCame(t *testing.T) {
	c := silent(t)
	l := &Listener{
		Listener: noListener{}, options: Options{Client: c}, cancel: func() {}, routes: map[string]*routes{},
		address: netip.MustParseAddrPort("127.0.0.1:1"),
	}
	defer l.Close()
	name := func(routes string) {
		(*listenerWatcher)(l).Changed(&resource.Listener{Server: &resource.ServerListener{
			Address: "127.0.0.1:1", Default: &resource.FilterChain{HTTP: &resource.HTTP{RouteName: routes}},
		}}, nil)
	}
	watched := func(names ...string) {
		t.Helper()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.routes) != len(names) {
			t.Errorf("%d RouteConfigurations are watched", len(l.routes))
		}
		for _, n := range names {
			if l.routes[n] == nil {
				t.Errorf("%s is not watched", n)
			}
		}
	}
	name("current")
	l.mu.Lock()
	r := l.routes["current"]
	l.mu.Unlock()
	(&routesWatcher{l, r}).Changed(&resource.RouteConfig{}, nil)
	for i := range 100 {
		name(fmt.Sprint("next", i))
	}
	watched("current", "next99")
	name("current")
	watched("current")
}
