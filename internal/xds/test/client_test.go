// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	xds "google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/protobuf/types/known/durationpb"
)

func loadInterval() *lrsv3.LoadStatsResponse {
	return &lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(50 * time.Millisecond)}
}

// TestA27A30Flow: all four kinds of resources of version 3, on one stream.
func TestA27A30Flow(t *testing.T) {
	p := newPlane(t)
	c := client(t, pool(t, p))
	p.set(listener("l", "r"), route("r", "c"), cluster("c"), endpoints("c", 1, 2))
	l, r, cl, e := newWatcher[*resource.Listener](t), newWatcher[*resource.RouteConfig](t), newWatcher[*resource.Cluster](t), newWatcher[*resource.Endpoints](t)
	xds.Watch(c.Client, c.Listeners, "l", l)
	xds.Watch(c.Client, c.Routes, l.value().API.RouteName, r)
	name := r.value().VirtualHost("any").Route(&resource.Request{Path: "/s/m"}).Clusters[0].Name
	xds.Watch(c.Client, c.Clusters, name, cl)
	xds.Watch(c.Client, c.Endpoints, cl.value().EDSName(), e)
	if got := e.value().Localities[0].Endpoints; len(got) != 2 || got[1].Address != "127.0.0.1:2" {
		t.Errorf("%+v", got)
	}
	// Only what changes is heard of.
	p.set(listener("l", "r"), route("r", "c"), cluster("c"), endpoints("c", 1, 2, 3))
	if got := e.value().Localities[0].Endpoints; len(got) != 3 {
		t.Errorf("%+v", got)
	}
	if len(l.events)+len(r.events)+len(cl.events) > 0 {
		t.Error("heard of what did not change")
	}
	streams, nacks := p.counts()
	if streams != 1 || len(nacks) != 0 {
		t.Errorf("%d streams, refused: %v", streams, nacks)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.node.GetId() != nodeID || p.node.GetUserAgentName() != "gRPC Go" {
		t.Errorf("%v", p.node)
	}
}

func TestA46NACK(t *testing.T) {
	p := newPlane(t)
	c := client(t, pool(t, p))
	good, bad := newWatcher[*resource.Cluster](t), newWatcher[*resource.Cluster](t)
	p.set(cluster("good"), cluster("bad"))
	xds.Watch(c.Client, c.Clusters, "good", good)
	xds.Watch(c.Client, c.Clusters, "bad", bad)
	good.value()
	bad.value()
	changed := cluster("good")
	changed.EdsClusterConfig.ServiceName = "s"
	p.set(changed, badCluster("bad"))
	if got := good.value(); got.EDSServiceName != "s" {
		t.Errorf("%+v", got)
	}
	if e := bad.next(); !e.ambient || !strings.Contains(e.err.Error(), "lb_policy: RANDOM") {
		t.Errorf("%+v", e)
	}
	until(t, func() bool {
		_, nacks := p.counts()
		return len(nacks) > 0 && strings.Contains(nacks[0], `Cluster "bad" is not valid: lb_policy: RANDOM`)
	})
	// go-control-plane sends again what is refused: that must not keep the client busy.
	_, before := p.counts()
	p.set(changed, cluster("bad"))
	for {
		e := bad.next()
		if !e.ambient {
			t.Fatalf("%+v", e)
		}
		if e.err == nil {
			break
		}
	}
	if _, after := p.counts(); len(after)-len(before) > 5 {
		t.Errorf("%d refusals of one version", len(after)-len(before))
	}
}

// until waits for something that no event tells of.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

func TestA57DoesNotExist(t *testing.T) {
	p := newPlane(t)
	p.resourceTimeout = time.Second
	c := client(t, pool(t, p))
	p.set(cluster("other"))
	w := newWatcher[*resource.Cluster](t)
	xds.Watch(c.Client, c.Clusters, "c", w)
	if e := w.next(); !xds.IsDoesNotExist(e.err) {
		t.Errorf("%+v", e)
	}
	p.set(cluster("other"), cluster("c"))
	w.value()
	p.set(cluster("other")) // A53
	if e := w.next(); !xds.IsDoesNotExist(e.err) || e.ambient {
		t.Errorf("%+v", e)
	}
}

func TestA57Restart(t *testing.T) {
	p := newPlane(t)
	c := client(t, pool(t, p))
	p.set(endpoints("c", 1))
	w := newWatcher[*resource.Endpoints](t)
	xds.Watch(c.Client, c.Endpoints, "c", w)
	w.value()
	p.stop()
	if e := w.next(); !e.ambient || e.err == nil {
		t.Errorf("%+v", e)
	}
	p.start()
	p.set(endpoints("c", 1, 2))
	for {
		if e := w.next(); !e.ambient {
			if len(e.value.Localities[0].Endpoints) != 2 {
				t.Errorf("%+v", e.value)
			}
			break
		}
	}
}

func TestA71Fallback(t *testing.T) {
	p, q := newPlane(t), newPlane(t)
	p.stop()
	c := client(t, pool(t, p, q))
	p.set(endpoints("c", 1))
	q.set(endpoints("c", 2))
	w := newWatcher[*resource.Endpoints](t)
	xds.Watch(c.Client, c.Endpoints, "c", w)
	if got := w.value().Localities[0].Endpoints[0].Address; got != "127.0.0.1:2" {
		t.Error(got)
	}
	p.start()
	if got := w.value().Localities[0].Endpoints[0].Address; got != "127.0.0.1:1" {
		t.Error(got)
	}
	until(t, func() bool { return len(c.Servers()) == 1 })
}

func TestA27Loads(t *testing.T) {
	p := newPlane(t)
	p.loads.reports = make(chan *lrsv3.LoadStatsRequest, 1)
	c := client(t, pool(t, p))
	loads, stop := c.ReportLoad(c.Bootstrap().Servers[0])
	defer stop()
	load, release := loads.Cluster("c", "s")
	defer release()
	l := load.Locality(xds.LocalityKey{Zone: "z"})
	l.Started()
	l.Finished(false)
	load.Dropped("x")
	for {
		select {
		case r := <-p.loads.reports:
			if len(r.GetClusterStats()) == 0 {
				continue
			}
			s := r.GetClusterStats()[0]
			if s.GetTotalDroppedRequests() != 1 || s.GetUpstreamLocalityStats()[0].GetTotalSuccessfulRequests() != 1 {
				t.Errorf("%v", s)
			}
			return
		case <-time.After(patience):
			t.Fatal(errLate)
		}
	}
}

func TestChannelsShare(t *testing.T) {
	p := newPlane(t)
	pool := pool(t, p)
	p.set(endpoints("c", 1))
	var last *watcher[*resource.Endpoints]
	for range 100 {
		c := client(t, pool)
		last = newWatcher[*resource.Endpoints](t)
		xds.Watch(c.Client, c.Endpoints, "c", last)
	}
	last.value()
	if streams, _ := p.counts(); streams != 1 {
		t.Errorf("%d streams for 100 channels", streams)
	}
	// Another target has a client of its own, on the same connection.
	other, release, err := pool.Client("xds:///other", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		release()
		other.Close()
	}()
	w := newWatcher[*resource.Endpoints](t)
	xds.Watch(other.Client, other.Endpoints, "c", w)
	w.value()
	if got := len(pool.Clients()); got != 2 {
		t.Errorf("%d clients", got)
	}
}

// TestManyResources has a control plane send much more than a message usually may hold.
func TestManyResources(t *testing.T) {
	p := newPlane(t)
	c := client(t, pool(t, p))
	const clusters, each = 500, 200
	var all []types.Resource
	for i := range clusters {
		ports := make([]uint32, each)
		for j := range ports {
			ports[j] = uint32(j + 1)
		}
		all = append(all, cluster(fmt.Sprint("c", i)), endpoints(fmt.Sprint("c", i), ports...))
	}
	p.set(all...)
	before := runtime.NumGoroutine()
	cl, e := newWatcher[*resource.Cluster](t), newWatcher[*resource.Endpoints](t)
	cl.events, e.events = make(chan event[*resource.Cluster], 2*clusters), make(chan event[*resource.Endpoints], 2*clusters)
	for i := range clusters {
		xds.Watch(c.Client, c.Clusters, fmt.Sprint("c", i), cl)
		xds.Watch(c.Client, c.Endpoints, fmt.Sprint("c", i), e)
	}
	for range clusters {
		for cl.next().err != nil { // one that was late comes after all
		}
		for e.next().err != nil {
		}
	}
	if n := runtime.NumGoroutine() - before; n > 30 {
		t.Errorf("%d goroutines for %d watches", n, 2*clusters)
	}
}
