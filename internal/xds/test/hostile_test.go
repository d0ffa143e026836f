// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestHostileManyClusters has routes name thousands of clusters that nobody is in, beside a good
// one, and an aggregate of all of them.
func TestHostileManyClusters(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	n, before := size(10_000), heap()
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
	pool := poolWith(t, bootstrapText(p), func(o *xdsclient.Options) { o.Client.ResourceTimeout = patience })
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "who", "good")
	if got, err := try(ctx, t, cc, grpc.WaitForReady(true)); got != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got := call(t, cc); got != "a" { // by way of the aggregate
		t.Errorf("%q", got)
	}
	quiet(t, p, cc)
	// What there is of each is in the control plane's snapshot and messages, too.
	each := (heap() - before) / uint64(n)
	t.Logf("%d bytes a cluster", each)
	if each > 32<<10 {
		t.Errorf("%d bytes a cluster", each)
	}
	if got := p.received(); got > n {
		t.Errorf("%d requests for %d clusters", got, n)
	}
	runtime.KeepAlive(all)
}

// size is a tenth of n where tests are to be short, or are slow.
func size(n int) int {
	if testing.Short() || raceEnabled {
		return n / 10
	}
	return n
}

// heap is what the process has, which is the control plane's, too.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHostileManyEndpoints has one cluster with more endpoints than anybody has, in thousands of
// localities and priorities.
func TestHostileManyEndpoints(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	e := assignment("c", local("good", 0, 1, a))
	before, n := heap(), size(100_000)
	port := uint32(1)
	for i := range n / 50 {
		l := local(fmt.Sprint("z", i), uint32(1+i), 1)
		for range 50 {
			port++
			far := local("", 0, 1, &backend{port: 1 + port%50_000}).LbEndpoints
			far[0].GetEndpoint().Address.GetSocketAddress().Address = fmt.Sprintf("127.0.0.%d", 2+port/50_000)
			l.LbEndpoints = append(l.LbEndpoints, far...)
		}
		e.Endpoints = append(e.Endpoints, l)
	}
	// The good one's port may be among the others': then the resource would be refused.
	e.Endpoints[0].LbEndpoints[0].GetEndpoint().Address.GetSocketAddress().Address = "localhost"
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), e)
	pool := poolWith(t, bootstrapText(p), func(o *xdsclient.Options) { o.Client.ResourceTimeout = patience })
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool})
	if got := call(t, cc); got != "a" {
		t.Errorf("%q", got)
	}
	quiet(t, p, cc)
	// Those of priorities that are not in use are data, and no more: here they are in the control
	// plane's snapshot and message, too.
	each := (heap() - before) / uint64(n)
	t.Logf("%d bytes an endpoint", each)
	if each > 4<<10 {
		t.Errorf("%d bytes an endpoint", each)
	}
	runtime.KeepAlive(e)
	if got := p.received(); got > 20 {
		t.Errorf("%d requests", got)
	}
}

// TestHostileRegexes: a regular expression that can't be used is refused, by the field it is in; one
// that takes other engines for ever is matched in no time.
func TestHostileRegexes(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	rest := []types.Resource{listener("target", "r"), cluster("a"), cluster("b"), assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b))}
	with := func(expression string) *routev3.RouteConfiguration {
		return routes(to("b", func(r *routev3.Route) {
			r.Match.Headers = []*routev3.HeaderMatcher{{Name: "who", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
				StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: expression}}},
			}}}
		}), to("a"))
	}
	p.set(append(rest, with("(a+)+b"))...)
	cc := channel(t, nil, p)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "who", strings.Repeat("a", 4000))
	began := time.Now()
	if got, err := try(ctx, t, cc, grpc.WaitForReady(true)); got != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if d := time.Since(began); d > patience/2 {
		t.Errorf("it takes %v", d)
	}
	for i, bad := range []string{"(", "[z-a]", "a{2000}", "(?P<n", strings.Repeat("(a{100}){100}", 20), `\xff(?<`} {
		p.set(append(rest, with(bad))...)
		until(t, func() bool {
			_, nacks := p.counts()
			return len(nacks) > i && strings.Contains(nacks[len(nacks)-1], "safe_regex")
		})
		if got := call(t, cc); got != "a" {
			t.Errorf("%q: what was good is not kept", got)
		}
	}
	quiet(t, p, cc)
}

// TestHostileAggregates: clusters that consist of each other, and of each other's, end in an error
// that says so, and one that is good works beside them.
func TestHostileAggregates(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	n := size(200)
	all := []types.Resource{listener("target", "r"), cluster("good"), assignment("good", local("z", 0, 1, a))}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("c", i))
	}
	for _, name := range names {
		all = append(all, aggregate(name, names...))
	}
	all = append(all, routes(to("c0", withHeader("who", "bad")), to("good")))
	p.set(all...)
	cc := channel(t, nil, p)
	if got := call(t, cc); got != "a" {
		t.Errorf("%q", got)
	}
	_, err := try(metadata.AppendToOutgoingContext(t.Context(), "who", "bad"), t, cc)
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "aggregate cluster") {
		t.Error(err)
	}
	quiet(t, p, cc)
	if got := p.received(); got > 10*n {
		t.Errorf("%d requests for %d clusters", got, n)
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
	const rounds = 400
	var early uint64
	for i := range rounds {
		if i == rounds/4 {
			early = heap()
		}
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
	p.set(append(always, both, cluster("b"), assignment("b", local("z", 0, 1, b)))...)
	becomes(t, cc, "a")
	quiet(t, p, cc)
	// What came and went is forgotten, and each time cost a few requests at the most.
	if late := heap(); late > early+4<<20 {
		t.Errorf("%d bytes, %d after a quarter of the time", late, early)
	}
	if got := p.received(); got > 12*rounds {
		t.Errorf("%d requests for %d changes", got, rounds)
	}
}

// TestHostileADSDies has the control plane go away again and again: what is there stays, and the
// client pauses after each attempt that fails.
func TestHostileADSDies(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool(t, p)})
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
	quiet(t, p, cc)
}

// TestHostileADSStreamDies has each ADS stream end: before the first answer, so that there is a
// pause, each time; and as soon as all is answered, so that the next one comes a second after the
// one before began, and no more of them. RPCs don't notice.
func TestHostileADSStreamDies(t *testing.T) {
	const early, after = 20, 4
	k := &killer{early: early, begun: make(chan begun, 100)}
	p := newPlane(t, grpc.StreamInterceptor(k.intercept))
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	var pauses, paused atomic.Int64 // paused is when the last pause began, after start
	start := time.Now()
	pool := poolWith(t, bootstrapText(p), func(o *xdsclient.Options) {
		o.Client.ResourceTimeout = patience
		o.Client.Backoff = func(failures int) time.Duration {
			if n := pauses.Add(1); int(n) != failures+1 {
				t.Errorf("the pause after failure %d is that of %d", n, failures+1)
			}
			paused.Store(int64(time.Since(start)))
			return time.Millisecond
		}
	})
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool})
	becomes(t, cc, "a")
	if n := pauses.Load(); n != early {
		t.Errorf("%d pauses after %d streams without an answer", n, early)
	}
	answered := func(stream int) { // so that it is not one without an answer
		until(t, func() bool {
			n, _ := p.counts()
			return n == stream && p.answered()
		})
	}
	for i := range after {
		s := <-k.begun
		// A stream begins no sooner than a second after the one before. The first of these begins after the last pause.
		if since, least := s.at.Sub(start)-time.Duration(paused.Load()), time.Duration(i)*time.Second; since < least {
			t.Errorf("stream %d comes %v after the last pause, want %v at least", i, since, least)
		}
		answered(i + 1)
		s.kill <- struct{}{}
		for range 100 {
			if _, err := try(t.Context(), t, cc); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-k.begun
	answered(after + 1)
	quiet(t, p, cc)
	if n, _ := p.counts(); n != after+1 {
		t.Errorf("%d streams after %d have ended", n, after)
	}
	if n := pauses.Load(); n != early {
		t.Errorf("%d pauses, though there was an answer each time", n-early)
	}
}

// killer ends streams.
type killer struct {
	mu    sync.Mutex
	early int // so many at once
	begun chan begun
}

// begun is a stream that has begun.
type begun struct {
	at   time.Time
	kill chan<- struct{} // ends it
}

func (k *killer) intercept(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	k.mu.Lock()
	early := k.early > 0
	k.early--
	k.mu.Unlock()
	gone := status.Error(codes.Unavailable, "gone")
	if early {
		return gone
	}
	kill, done := make(chan struct{}, 1), make(chan error, 1)
	k.begun <- begun{time.Now(), kill}
	go func() { done <- next(srv, s) }()
	select {
	case err := <-done:
		return err
	case <-kill:
		return gone
	}
}

// TestHostileCircle has a cluster name itself as its policy, beside a good one.
func TestHostileCircle(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	v, err := structpb.NewStruct(map[string]any{"cluster": "bad"})
	if err != nil {
		t.Fatal(err)
	}
	p.set(listener("target", "r"), routes(to("good", withHeader("who", "good")), to("bad")), cluster("good"), assignment("good", local("z", 0, 1, a)),
		clusterWith("bad", &xdsv3.TypedStruct{TypeUrl: "type.googleapis.com/cds_experimental", Value: v}), assignment("bad", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	if _, err := try(t.Context(), t, cc); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `"bad" -> "bad"`) {
		t.Error(err)
	}
	if got, err := try(metadata.AppendToOutgoingContext(t.Context(), "who", "good"), t, cc); got != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
