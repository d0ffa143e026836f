// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/codes"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestCaseGentleFailover is gentle_failover: the control plane has a zone share with another one
// while few of its servers are well.
func TestCaseGentleFailover(t *testing.T) {
	p, first, second := newPlane(t), group(t, "a", 3), group(t, "b", 2)
	p.simple(inZones([]uint32{0, 1}, first, second))
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, first...)
	first[0].server.Stop()
	first[1].server.Stop()
	p.simple(inZones([]uint32{0, 0}, first, second))
	allGet(t, cc, first[2], second[0], second[1])
	for _, b := range first[:2] {
		b.start(t, b.address())
	}
	p.simple(inZones([]uint32{0, 1}, first, second))
	cc.ResetConnectBackoff()
	allGet(t, cc, first...)
}

// TestCaseLoadBasedFailover is load_based_failover: the control plane has a zone share with another
// one while the load that clients report is too much for it.
func TestCaseLoadBasedFailover(t *testing.T) {
	p, first, second := newPlane(t), group(t, "a", 2), group(t, "b", 2)
	p.loads.reports = make(chan *lrsv3.LoadStatsRequest, 100)
	c := cluster("c")
	c.LrsServer = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
	say := func(priority uint32) {
		p.set(listener("target", "r"), routes(to("c")), c, inZones([]uint32{0, priority}, first, second))
	}
	say(1)
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, first...)
	reported(t, p, func(s *endpointv3.ClusterStats) bool {
		_ = count(t, cc, 30)
		list := s.GetUpstreamLocalityStats()
		return len(list) == 1 && list[0].GetLocality().GetZone() == "z0" && list[0].GetTotalIssuedRequests() > 20
	})
	say(0)
	allGet(t, cc, append(first, second...)...)
	say(1)
	allGet(t, cc, first...)
}

// TestCaseCircuitBreaking is circuit_breaking, with a tenth of the RPCs.
func TestCaseCircuitBreaking(t *testing.T) {
	p, one, two := newPlane(t), group(t, "a", 2), group(t, "b", 2)
	var unary, empty atomic.Int64
	for _, b := range append(one, two...) {
		open := &unary
		if b.name[0] == 'b' {
			open = &empty
		}
		b.handle = func(ctx context.Context) error {
			open.Add(1)
			defer open.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
	}
	bounded := func(name string, n uint32) *clusterv3.Cluster {
		c := cluster(name)
		c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(n)}}}
		return c
	}
	say := func(n uint32) {
		p.set(listener("target", "r"), routes(to("one", func(r *routev3.Route) {
			r.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: testpb.TestService_UnaryCall_FullMethodName}
		}), to("two")), bounded("one", n), bounded("two", 100),
			assignment("one", local("z", 0, 1, one...)), assignment("two", local("z", 0, 1, two...)))
	}
	say(50)
	c := testpb.NewTestServiceClient(channel(t, nil, p))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var refused atomic.Int64
	begin := func(n int, f func() error) {
		for range n {
			wg.Go(func() {
				if err := f(); status.Code(err) == codes.Unavailable {
					refused.Add(1)
				}
			})
		}
	}
	unaryCall := func() error {
		_, err := c.UnaryCall(ctx, &testpb.SimpleRequest{})
		return err
	}
	begin(60, unaryCall)
	begin(110, func() error {
		_, err := c.EmptyCall(ctx, &testpb.Empty{})
		return err
	})
	until(t, func() bool { return unary.Load() == 50 && empty.Load() == 100 && refused.Load() == 20 })
	say(80)
	until(t, func() bool { // one after the other, until those that there is place for are there
		before := refused.Load()
		open := unary.Load()
		begin(1, unaryCall)
		until(t, func() bool { return unary.Load() > open || refused.Load() > before })
		return open == 80 && refused.Load() > before
	})
	if unary.Load() != 80 || empty.Load() != 100 {
		t.Errorf("%d and %d RPCs", unary.Load(), empty.Load())
	}
}

// TestCaseTimeout is timeout.
func TestCaseTimeout(t *testing.T) {
	p, a := newPlane(t), newBackend(t, "a")
	late := make(chan struct{}) // closed when an RPC of the other route is over
	a.handle = func(ctx context.Context) error {
		if metadata.ValueFromIncomingContext(ctx, "rpc-behavior") == nil {
			return nil
		}
		if method, _ := grpc.Method(ctx); method == testpb.TestService_EmptyCall_FullMethodName {
			<-late
			return nil
		}
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	p.set(listener("target", "r"), routes(to("c", func(r *routev3.Route) {
		r.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: testpb.TestService_UnaryCall_FullMethodName}
		r.GetRoute().MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(3 * time.Second)}
	}), to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	c := testpb.NewTestServiceClient(cc)
	sleeps := metadata.AppendToOutgoingContext(t.Context(), "rpc-behavior", "sleep")
	if _, err := c.EmptyCall(t.Context(), &testpb.Empty{}, grpc.WaitForReady(true)); err != nil { // it is connected then
		t.Fatal(err)
	}
	t.Run("timeout_not_exceeded", func(t *testing.T) {
		if _, err := try(t.Context(), t, cc); err != nil {
			t.Error(err)
		}
	})
	t.Run("app_timeout_exceeded", func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(sleeps, 100*time.Millisecond)
		defer cancel()
		if _, err := c.UnaryCall(ctx, &testpb.SimpleRequest{}); status.Code(err) != codes.DeadlineExceeded {
			t.Error(err)
		}
		if d := time.Since(began); d < 100*time.Millisecond {
			t.Errorf("after %v", d)
		}
	})
	t.Run("timeout_different_route", func(t *testing.T) { // and timeout_exceeded
		other := make(chan error, 1)
		go func() {
			_, err := c.EmptyCall(sleeps, &testpb.Empty{})
			other <- err
		}()
		began := time.Now()
		if _, err := c.UnaryCall(sleeps, &testpb.SimpleRequest{}); status.Code(err) != codes.DeadlineExceeded {
			t.Error(err)
		}
		if d := time.Since(began); d < 3*time.Second {
			t.Errorf("after %v", d)
		}
		close(late)
		if err := <-other; err != nil {
			t.Error(err)
		}
	})
}

// TestCaseAPIListener is api_listener: another Listener takes the place of one, under its name.
func TestCaseAPIListener(t *testing.T) {
	p, g := newPlane(t), group(t, "a", 2)
	rest := []types.Resource{cluster("c"), inZones([]uint32{0}, g)}
	named := func(name string) *routev3.RouteConfiguration {
		r := routes(to("c"))
		r.Name = name
		return r
	}
	p.set(append(rest, listener("target", "one"), named("one"))...)
	cc := channel(t, nil, p)
	call(t, cc)
	steady(t, cc, g...)
	for _, step := range [][]types.Resource{
		{listener("target", "one"), named("one"), named("two")},
		{listener("target", "two"), named("one"), named("two")},
		{listener("target", "two"), named("two")},
	} {
		p.set(append(rest, step...)...)
		steady(t, cc, g...)
	}
	until(t, func() bool { // it has heard of the last one, and is well
		for _, name := range p.names() {
			if name == "two" {
				return true
			}
		}
		return false
	})
	steady(t, cc, g...)
}

// TestCaseMetadataFilter is what metadata_filter has clients do: they tell the control plane of
// themselves, and take what it chooses by that.
func TestCaseMetadataFilter(t *testing.T) {
	p, a := newPlane(t), newBackend(t, "a")
	p.simple(inZones([]uint32{0}, []*backend{a}))
	text := strings.Replace(bootstrapText(p), `"id":`, `"metadata":{"role":"shop","of":{"zones":[1,2]}},"id":`, 1)
	call(t, channelTo(t, "xds:///target", xdsresolver.Builder{Pool: poolWith(t, text, func(*xdsclient.Options) {})}))
	p.mu.Lock()
	defer p.mu.Unlock()
	got, err := json.Marshal(p.node.GetMetadata().AsMap())
	if want := `{"of":{"zones":[1,2]},"role":"shop"}`; string(got) != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestCaseForwardingRules is what forwarding_rule_port_match and forwarding_rule_default_port have
// clients do: a target's port is part of the name that they ask for, and of what hosts match.
func TestCaseForwardingRules(t *testing.T) {
	for _, tt := range []struct {
		target, listener, domain string
		want                     codes.Code
		text                     string
	}{
		{"shop:8080", "shop:8080", "shop:8080", codes.OK, ""},
		{"shop:8080", "shop:8081", "shop:8080", codes.Unavailable, "Listener"},
		{"shop", "shop:8080", "shop:8080", codes.Unavailable, "Listener"},
		{"shop", "shop", "shop", codes.OK, ""},
		{"shop", "shop", "shop:80", codes.Unavailable, "virtual host"},
	} {
		p, a := newPlane(t), newBackend(t, "a")
		if tt.target != tt.listener {
			p.resourceTimeout = time.Second
		}
		r := routes(to("c"))
		r.VirtualHosts[0].Domains = []string{tt.domain}
		p.set(listener(tt.listener, "r"), r, cluster("c"), inZones([]uint32{0}, []*backend{a}))
		cc := channelTo(t, "xds:///"+tt.target, xdsresolver.Builder{Pool: pool(t, p)})
		if _, err := try(t.Context(), t, cc); status.Code(err) != tt.want || !strings.Contains(status.Convert(err).Message(), tt.text) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// behave does what the header of the cases asks for.
func behave(b *backend) {
	b.handle = func(ctx context.Context) error {
		for _, v := range metadata.ValueFromIncomingContext(ctx, "rpc-behavior") {
			if host, rest, ok := strings.Cut(v, " "); ok {
				if host != "hostname="+b.name {
					continue
				}
				v = rest
			}
			var code codes.Code
			if _, err := fmt.Sscanf(v, "error-code-%d", (*uint32)(&code)); err == nil {
				return status.Error(code, v)
			}
		}
		return nil
	}
}

// TestCaseOutlierDetection is outlier_detection.
func TestCaseOutlierDetection(t *testing.T) {
	p, g := newPlane(t), group(t, "a", 5)
	for _, b := range g {
		behave(b)
	}
	c := cluster("c")
	c.OutlierDetection = &clusterv3.OutlierDetection{
		Interval: durationpb.New(200 * time.Millisecond), BaseEjectionTime: durationpb.New(200 * time.Millisecond),
		SuccessRateRequestVolume: wrapperspb.UInt32(5),
	}
	p.set(listener("target", "r"), routes(to("c")), c, inZones([]uint32{0}, g))
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, g...)
	evenly(t, cc, g...)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "rpc-behavior", "hostname="+g[2].name+" error-code-2")
	until(t, func() bool {
		got := make(map[string]int)
		for range 40 {
			name, err := try(ctx, t, cc)
			if err != nil {
				name = "failed"
			}
			got[name]++
		}
		return all(got, g[0], g[1], g[3], g[4])
	})
	steady(t, cc, g...)
}

// behavior is test.RpcBehaviorLoadBalancer: round_robin, with a header for each RPC.
type behavior struct{ balancer.Builder }

type behaviorConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`
	Behavior                          string `json:"rpcBehavior"`
}

func (behavior) Name() string { return "test.RpcBehaviorLoadBalancer" }

// ParseConfig implements balancer.ConfigParser.
func (behavior) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &behaviorConfig{}
	return c, json.Unmarshal(js, c)
}

// Build implements balancer.Builder.
func (behavior) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	b := &behaving{ClientConn: cc}
	b.Balancer = balancer.Get(roundrobin.Name).Build(b, o)
	return b
}

// behaving stands on both sides of round_robin.
type behaving struct {
	balancer.Balancer
	balancer.ClientConn
	value string
}

// UpdateClientConnState implements balancer.Balancer.
func (b *behaving) UpdateClientConnState(s balancer.ClientConnState) error {
	b.value = s.BalancerConfig.(*behaviorConfig).Behavior
	s.BalancerConfig = nil
	return b.Balancer.UpdateClientConnState(s)
}

// UpdateState implements balancer.ClientConn.
func (b *behaving) UpdateState(s balancer.State) {
	s.Picker = &behavingPicker{s.Picker, metadata.Pairs("rpc-behavior", b.value)}
	b.ClientConn.UpdateState(s)
}

type behavingPicker struct {
	balancer.Picker
	md metadata.MD
}

// Pick implements balancer.Picker.
func (p *behavingPicker) Pick(i balancer.PickInfo) (balancer.PickResult, error) {
	r, err := p.Picker.Pick(i)
	r.Metadata = p.md
	return r, err
}

func init() { balancer.Register(behavior{}) }

// TestCaseCustomLB is custom_lb: of two policies of the program's own the first is not there.
func TestCaseCustomLB(t *testing.T) {
	custom := func(name, field, value string) *clusterv3.LoadBalancingPolicy_Policy {
		return &clusterv3.LoadBalancingPolicy_Policy{TypedExtensionConfig: &corev3.TypedExtensionConfig{
			Name: name, TypedConfig: mustAny(&xdstypev3.TypedStruct{
				TypeUrl: "type.googleapis.com/" + name,
				Value:   &structpb.Struct{Fields: map[string]*structpb.Value{field: structpb.NewStringValue(value)}},
			}),
		}}
	}
	p, a := newPlane(t), newBackend(t, "a")
	behave(a)
	c := cluster("c")
	c.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{
		custom("test.ThisLoadBalancerDoesNotExist", "foo", "bar"),
		custom("test.RpcBehaviorLoadBalancer", "rpcBehavior", "error-code-15"),
	}}
	p.set(listener("target", "r"), routes(to("c")), c, inZones([]uint32{0}, []*backend{a}))
	cc := channel(t, nil, p)
	for range 10 {
		if _, err := try(t.Context(), t, cc, grpc.WaitForReady(true)); status.Code(err) != codes.DataLoss {
			t.Error(err)
		}
	}
}
