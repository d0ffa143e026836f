// SPDX-License-Identifier: Apache-2.0

package test

import (
	"encoding/json"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	cswrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	ringv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/roundrobin"
	xds "google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// manager is the topmost policy of a channel.
const manager = "xds_cluster_manager_experimental"

// spy stands around that policy: it counts what channels are told, and knows their last picker.
type spy struct {
	balancer.Builder
	balancer.ConfigParser
	updates atomic.Int64
	last    atomic.Pointer[spyPicker]
	info    atomic.Pointer[balancer.PickInfo] // of the last RPC
}

var spying = func() *spy {
	b := balancer.Get(manager)
	s := &spy{Builder: b, ConfigParser: b.(balancer.ConfigParser)}
	balancer.Register(s)
	return s
}()

// Build implements balancer.Builder.
func (s *spy) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return s.Builder.Build(&spied{cc}, opts)
}

type spied struct{ balancer.ClientConn }

// UpdateState implements balancer.ClientConn.
func (s *spied) UpdateState(state balancer.State) {
	spying.updates.Add(1)
	p := &spyPicker{Picker: state.Picker}
	spying.last.Store(p)
	state.Picker = p
	s.ClientConn.UpdateState(state)
}

// spyPicker has the spy know of RPCs.
type spyPicker struct{ balancer.Picker }

// Pick implements balancer.Picker.
func (p *spyPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	spying.info.Store(&info)
	return p.Picker.Pick(info)
}

// TestPickDoesNotAllocate picks through the whole stack of policies, from the channel's picker down
// to each endpoint policy, with outlier detection, circuit breaking, load reports, localities and
// priorities, and ends the RPC.
func TestPickDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, policy := range map[string]proto.Message{
		"round_robin":          byLocality(&roundrobinv3.RoundRobin{}),
		"weighted_round_robin": byLocality(&cswrrv3.ClientSideWeightedRoundRobin{}),
		"least_request":        byLocality(&leastv3.LeastRequest{}),
		"pick_first":           byLocality(&pickfirstv3.PickFirst{}),
		"ring_hash":            &ringv3.RingHash{HashFunction: ringv3.RingHash_XX_HASH},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			p.loads.reports = make(chan *lrsv3.LoadStatsRequest, 1000)
			c := clusterWith("c", policy)
			c.LrsServer = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
			c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(1 << 20)}}}
			c.OutlierDetection = &clusterv3.OutlierDetection{Interval: durationpb.New(1 << 40)}
			one, two, three := group(t, "a", 2), group(t, "b", 2), group(t, "c", 1)
			p.set(listener("target", "r"), routes(to("c", byHeader)), c, inZones([]uint32{0, 0, 1}, one, two, three))
			cc := channel(t, nil, p)
			ctx := metadata.AppendToOutgoingContext(t.Context(), "user", "u")
			until(t, func() bool { // enough are connected for a pick to be the usual one
				_, err := try(ctx, t, cc, grpc.WaitForReady(true))
				return err == nil && len(count(t, cc, 20)) > 1
			})
			allWait(t)
			pick, info := spying.last.Load(), *spying.info.Load()
			if n := testing.AllocsPerRun(2000, func() {
				r, err := pick.Picker.Pick(info)
				if err != nil {
					t.Fatal(err)
				}
				if r.Done != nil {
					r.Done(balancer.DoneInfo{BytesSent: true})
				}
			}); n != 0 {
				t.Errorf("%v allocations a pick", n)
			}
		})
	}
}

// byHeader has a route take the hash of header "user".
func byHeader(r *routev3.Route) {
	r.GetRoute().HashPolicy = []*routev3.RouteAction_HashPolicy{{
		PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: "user"}},
	}}
}

// crowd is a server with many ports.
func crowd(t *testing.T, n int) (list []*backend) {
	t.Helper()
	b := &backend{name: "crowd"}
	server := grpc.NewServer()
	testpb.RegisterTestServiceServer(server, b)
	for range n {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go server.Serve(lis) // it ends with Stop
		list = append(list, &backend{name: "crowd", port: uint32(lis.Addr().(*net.TCPAddr).Port)})
	}
	t.Cleanup(server.Stop)
	return list
}

// TestNoGoroutines: policies and connections that have nothing to do hold no goroutine: there are
// as many with a hundred endpoints in ten clusters as with ten, on both ends, whatever their policy
// is.
func TestNoGoroutines(t *testing.T) {
	kinds := []proto.Message{
		byLocality(&roundrobinv3.RoundRobin{}), byLocality(&cswrrv3.ClientSideWeightedRoundRobin{}), byLocality(&leastv3.LeastRequest{}),
		&ringv3.RingHash{HashFunction: ringv3.RingHash_XX_HASH}, byLocality(&pickfirstv3.PickFirst{}),
	}
	p := newPlane(t)
	list := crowd(t, 110)
	say := func(each int) {
		all := []types.Resource{listener("target", "r")}
		var paths []*routev3.Route
		for i := range 10 {
			c := fmt.Sprint("c", i)
			paths = append(paths, to(c, withHeader("cluster", c)))
			cl := clusterWith(c, kinds[i%len(kinds)])
			cl.OutlierDetection = &clusterv3.OutlierDetection{} // with its defaults it counts, and looks at it now and then
			all = append(all, cl, assignment(c, local("x", 0, 1, list[10*i:10*i+each]...), local("y", 1, 1, list[100+i])))
		}
		p.set(append(all, routes(paths...))...)
	}
	say(1)
	cc := channel(t, nil, p)
	round := func(n int) {
		for i := range 10 {
			for range n {
				ctx := metadata.AppendToOutgoingContext(t.Context(), "cluster", fmt.Sprint("c", i))
				if _, err := try(ctx, t, cc, grpc.WaitForReady(true)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	round(3)
	before := settled(t)
	say(10)
	round(50)
	until(t, func() bool { return runtime.NumGoroutine() <= before+4 })
}

// TestNoGoroutinesOfWatches: there are as many with a thousand watches as with one.
func TestNoGoroutinesOfWatches(t *testing.T) {
	p := newPlane(t)
	c := client(t, pool(t, p))
	w := newWatcher[*resource.Cluster](t)
	all := []types.Resource{cluster("c")}
	for i := range 500 {
		all = append(all, cluster(fmt.Sprint("c", i)))
	}
	p.set(all...)
	xds.Watch(c.Client, c.Clusters, "c", w)
	w.value()
	before := settled(t)
	for i := range 500 { // of the same resource, and of others
		xds.Watch(c.Client, c.Clusters, "c", w)
		xds.Watch(c.Client, c.Clusters, fmt.Sprint("c", i), w)
	}
	for range 1000 {
		w.value()
	}
	until(t, func() bool { return runtime.NumGoroutine() <= before+4 })
}

// settled returns the number of goroutines when all of them wait, and none has ended for a while.
func settled(t *testing.T) (n int) {
	t.Helper()
	for same := 0; same < 5; {
		allWait(t)
		if now := runtime.NumGoroutine(); now == n {
			same++
		} else {
			n, same = now, 0
		}
	}
	return n
}

// counting is an endpoint policy that counts what it is told, by the name in its configuration.
type counting struct {
	mu       sync.Mutex
	updates  map[string]int
	subConns map[string]int
}

type countingConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`
	Name                              string `json:"name"`
}

var counter = &counting{updates: map[string]int{}, subConns: map[string]int{}}

func init() { balancer.Register(counter) }

func (*counting) Name() string { return "test.counting" }

// ParseConfig implements balancer.ConfigParser.
func (*counting) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &countingConfig{}
	return c, json.Unmarshal(js, c)
}

// Build implements balancer.Builder.
func (c *counting) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	b := &counted{ClientConn: cc, counting: c}
	b.Balancer = balancer.Get(roundrobin.Name).Build(b, o)
	return b
}

// reset returns what was counted since the last time.
func (c *counting) reset() (updates, subConns map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	updates, subConns = c.updates, c.subConns
	c.updates, c.subConns = map[string]int{}, map[string]int{}
	return updates, subConns
}

type counted struct {
	balancer.Balancer
	balancer.ClientConn
	*counting
	name string
}

// Name would be ambiguous.
func (c *counted) Name() string { return c.name }

// UpdateClientConnState implements balancer.Balancer.
func (c *counted) UpdateClientConnState(s balancer.ClientConnState) error {
	c.name = s.BalancerConfig.(*countingConfig).Name
	c.mu.Lock()
	c.counting.updates[c.name]++
	c.mu.Unlock()
	s.BalancerConfig = nil
	return c.Balancer.UpdateClientConnState(s)
}

// NewSubConn implements balancer.ClientConn.
func (c *counted) NewSubConn(a []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	c.mu.Lock()
	c.subConns[c.name]++
	c.mu.Unlock()
	return c.ClientConn.NewSubConn(a, o)
}

// TestUpdatesCostWhatChanges: what a control plane says of one cluster of twenty, or of one endpoint
// of a hundred, reaches the policies of that cluster and makes that one connection; the others hear
// nothing.
func TestUpdatesCostWhatChanges(t *testing.T) {
	const clusters, each = 20, 5
	p := newPlane(t)
	list := crowd(t, clusters*each+50)
	all := map[string]*endpointv3.ClusterLoadAssignment{}
	var paths []*routev3.Route
	var rest []types.Resource
	for i := range clusters {
		name := fmt.Sprint("c", i)
		c := cluster(name)
		c.LoadBalancingPolicy = policies(&xdstypev3.TypedStruct{
			TypeUrl: "type.googleapis.com/test.counting",
			Value:   &structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue(name)}},
		})
		rest = append(rest, c)
		paths = append(paths, to(name, withHeader("cluster", name)))
		all[name] = assignment(name, local("z", 0, 1, list[each*i:each*(i+1)]...))
	}
	rest = append(rest, listener("target", "r"), routes(paths...))
	say := func() {
		now := append([]types.Resource(nil), rest...)
		for _, e := range all {
			now = append(now, e)
		}
		p.set(now...)
	}
	say()
	cc := channel(t, nil, p)
	for i := range clusters {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "cluster", fmt.Sprint("c", i))
		if _, err := try(ctx, t, cc, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	allWait(t)
	counter.reset()
	for n := range 12 {
		name := fmt.Sprint("c", n%3)
		before := all[name].GetEndpoints()[0].GetLbEndpoints()
		all[name] = assignment(name, local("z", 0, 1))
		all[name].Endpoints[0].LbEndpoints = append(append(before[:0:0], before...), local("z", 0, 1, list[clusters*each+n]).LbEndpoints...)
		say()
		var updates, subConns map[string]int
		until(t, func() bool {
			counter.mu.Lock()
			defer counter.mu.Unlock()
			return counter.subConns[name] > 0
		})
		allWait(t)
		if updates, subConns = counter.reset(); len(updates) != 1 || updates[name] != 1 || len(subConns) != 1 || subConns[name] != 1 {
			t.Fatalf("of an endpoint of %s more: updates %v, connections %v", name, updates, subConns)
		}
	}
}
