// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestHostileManyClusters has routes name thousands of clusters that nobody is in, beside a good
// one, and an aggregate of all of them.
func TestHostileManyClusters(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	const n = 3000
	all := []types.Resource{listener("target", "r"), cluster("good"), assignment("good", local("z", 0, 1, a))}
	list := []*routev3.Route{to("good", withHeader("who", "good"))}
	split := &routev3.WeightedCluster{}
	var names []string
	for i := range n {
		name := fmt.Sprint("c", i)
		names = append(names, name)
		all = append(all, cluster(name), assignment(name))
		split.Clusters = append(split.Clusters, &routev3.WeightedCluster_ClusterWeight{Name: name, Weight: wrapperspb.UInt32(1)})
	}
	all = append(all, aggregate("all", append(names, "good")...))
	wide := to("", withHeader("who", "wide"))
	wide.GetRoute().ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: split}
	all = append(all, routes(append(list, wide, to("all"))...))
	p.set(all...)
	cc := channel(t, nil, p)
	began := time.Now()
	if got := call(t, cc); got != "a" {
		t.Errorf("%q", got)
	}
	t.Logf("%d clusters and an aggregate of them: %v to the first RPC", n, time.Since(began))
	// Afterwards nothing happens.
	idle(t, time.Second)
}

// idle fails if the process does more than a little meanwhile.
func idle(t *testing.T, d time.Duration) {
	t.Helper()
	runtime.GC()
	before := cpu(t)
	<-time.After(d)
	if used := cpu(t) - before; used > d/2 {
		t.Errorf("%v of processor time in %v", used, d)
	}
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestHostileManyEndpoints has one cluster with more endpoints than anybody has, in thousands of
// localities and priorities.
func TestHostileManyEndpoints(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	e := assignment("c", local("good", 0, 1, a))
	port := uint32(1)
	for i := range 1000 {
		l := local(fmt.Sprint("z", i), uint32(1+i), 1)
		for range 50 {
			port++
			l.LbEndpoints = append(l.LbEndpoints, local("", 0, 1, &backend{port: port}).LbEndpoints...)
		}
		e.Endpoints = append(e.Endpoints, l)
	}
	// The good one's port may be among the others': then the resource would be refused.
	e.Endpoints[0].LbEndpoints[0].GetEndpoint().Address.GetSocketAddress().Address = "localhost"
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), e)
	pool := poolWith(t, bootstrapText(p), func(o *xdsclient.Options) { o.Client.ResourceTimeout = patience })
	if got := call(t, channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool})); got != "a" {
		t.Errorf("%q", got)
	}
}

// TestHostileFlapping has resources come and go all the time: RPCs to what stays never fail.
func TestHostileFlapping(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	always := []types.Resource{listener("target", "r"), cluster("a"), assignment("a", local("z", 0, 1, a))}
	both := routes(to("b", withHeader("who", "b")), to("a"))
	p.set(append(always, both, cluster("b"), assignment("b", local("z", 0, 1, b)))...)
	cc := channel(t, nil, p)
	call(t, cc)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := try(t.Context(), t, cc); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := range 200 {
		switch i % 4 {
		case 0:
			p.set(append(always, both)...)
		case 1:
			p.set(append(always, both, badCluster("b"))...)
		case 2:
			p.set(append(always, both, cluster("b"), assignment("b"))...)
		default:
			p.set(append(always, routes(to("a")))...)
		}
	}
	cancel()
	<-done
}

// TestHostileADSDies has the ADS stream end again and again: what is there stays, and the client
// pauses between attempts.
func TestHostileADSDies(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	call(t, cc)
	for range 5 {
		p.stop()
		for range 100 {
			if _, err := try(t.Context(), t, cc); err != nil {
				t.Fatal(err)
			}
		}
		p.start()
	}
	b := newBackend(t, "b")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, b)))
	becomes(t, cc, "b")
}
