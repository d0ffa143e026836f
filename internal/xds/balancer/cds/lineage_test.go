// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/rls"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// The lookup service of rls has no address.
func init() { resolver.Register(manual.NewBuilderWithScheme("nowhere")) }

type clusters = map[string]*dependency.Cluster

// leading is a cluster with a policy.
func leading(policy string, localities ...resource.Locality) *dependency.Cluster {
	c := leaf(localities...)
	c.Resource.LBPolicy = json.RawMessage(policy)
	return c
}

func to(cluster string) string { return `[{"cds_experimental":{"cluster":"` + cluster + `"}}]` }

// lookup is rls, which leads to a cluster as long as its service is not there.
func lookup(cluster string) string {
	return `[{"rls_experimental":{"routeLookupConfig":{"grpcKeybuilders":[{"names":[{"service":"s"}]}],"lookupService":"nowhere:///x","cacheSizeBytes":"1000",
		"defaultTarget":"` + cluster + `"},"childPolicy":[{"cds_experimental":{}}],"childPolicyConfigTargetFieldName":"cluster"}}]`
}

func aggregate(policy string, leaves ...string) *dependency.Cluster {
	r := &resource.Cluster{Type: resource.Aggregate, LBPolicy: json.RawMessage(policy)}
	return &dependency.Cluster{Resource: r, Leaves: leaves}
}

// chain is the cluster "c", which leads to "c2", and so on, n in all.
func chain(n int) clusters {
	all, name := clusters{}, "c"
	for i := range n - 1 {
		next := fmt.Sprint("c", i+2)
		all[name] = leading(to(next), zone("x", 0, "a:1"))
		name = next
	}
	all[name] = leaf(zone("x", 0, "a:1"))
	return all
}

// TestCircles: clusters whose policies lead back to them, or too deep, can't be used, and do no harm.
func TestCircles(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	x := zone("x", 0, "a:1")
	const self, pair = `cluster "c": its policy leads back to it: "c" -> "c"`, `cluster "c": its policy leads back to it: "c" -> "d" -> "c"`
	for name, tt := range map[string]struct {
		all  clusters
		want string // "": the cluster works; "*": it fails, and RPCs may wait
	}{
		"itself":              {clusters{"c": leading(to("c"), x)}, self},
		"each other":          {clusters{"c": leading(to("d"), x), "d": leading(to("c"), x)}, pair},
		"below the first":     {clusters{"c": leading(to("d"), x), "d": leading(to("d"), x)}, `cluster "d": its policy leads back to it: "d" -> "d"`},
		"localities":          {clusters{"c": leading(`[{"xds_wrr_locality_experimental":{"childPolicy":`+to("c")+`}}]`, x, zone("y", 0, "b:1"))}, self},
		"priorities":          {clusters{"c": leading(to("c"), x, zone("y", 1, "b:1"))}, self},
		"weighted":            {clusters{"c": leading(`[{"weighted_target_experimental":{"targets":{"c":{"weight":1,"childPolicy":`+to("c")+`}}}}]`, x)}, self},
		"a leaf to aggregate": {clusters{"c": aggregate("", "d"), "d": leading(to("c"), x)}, pair},
		"an aggregate's":      {clusters{"c": aggregate(to("c"), "d"), "d": leaf(x)}, pair},
		"an aggregate's leaf": {clusters{"c": aggregate(to("d"), "d"), "d": leading(to("d"), x)}, `cluster "d": its policy leads back to it: "d" -> "d"`},
		"a leaf twice":        {clusters{"c": aggregate(to("d"), "d"), "d": leaf(x)}, ""}, // first with the aggregate's policy, then with its own
		"rls":                 {clusters{"c": leading(lookup("c"), x)}, "*"},
		"rls and each other":  {clusters{"c": leading(lookup("d"), x), "d": leading(lookup("c"), x)}, "*"},
		"rls and aggregate":   {clusters{"c": aggregate("", "d"), "d": leading(lookup("c"), x)}, "*"},
		"16 deep":             {chain(maxDepth), ""},
		"17 deep":             {chain(maxDepth + 1), `cluster "c17": the policies of clusters lead to others more than 16 deep`},
		"10000 deep":          {chain(10000), `cluster "c17": the policies of clusters lead to others more than 16 deep`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.update(`{"cluster":"c"}`, tt.all)
				synctest.Wait()
				if tt.want == "" {
					f.works("a:1")
					return
				}
				s, _ := f.cc.State()
				if s.ConnectivityState != connectivity.TransientFailure {
					t.Errorf("%v", s.ConnectivityState)
				}
				if tt.want != "*" {
					if _, err := f.pick(); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
						t.Errorf("%v; want %s", err, tt.want)
					}
				}
				// What breaks the circle is heard of.
				for name, c := range tt.all {
					if c.Leaves == nil {
						tt.all[name] = leaf(zone("x", 0, "b:1"))
					} else {
						tt.all[name] = aggregate("", c.Leaves...)
					}
				}
				f.update(`{"cluster":"c"}`, tt.all)
				synctest.Wait()
				f.works("b:1")
			})
		})
	}
}

// works checks that the cluster is ready once its SubConns are.
func (f *fixture) works(addr string) {
	f.Helper()
	f.ready()
	synctest.Wait()
	s, _ := f.cc.State()
	if sc := f.cc.SubConn(addr); s.ConnectivityState != connectivity.Ready || sc == nil || sc.IsShutdown() {
		f.Errorf("%v; SubConn of %s: %v", s.ConnectivityState, addr, sc)
	}
}

// TestNewsOfClustersBelow: a cluster to which another one's policy leads is followed, also if the other one stays as it is.
func TestNewsOfClustersBelow(t *testing.T) {
	for name, policy := range map[string]string{"directly": `[{"cds_experimental":{"cluster":"d","isDynamic":true}}]`, "localities": `[{"xds_wrr_locality_experimental":{"childPolicy":[{"cds_experimental":{"cluster":"d","isDynamic":true}}]}}]`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				all := clusters{"c": leading(policy, zone("x", 0, "x:1"))}
				f.update(`{"cluster":"c"}`, all)
				synctest.Wait()
				if s, _ := f.cc.State(); s.ConnectivityState != connectivity.Connecting || f.subs["d"] != 1 {
					t.Fatalf("%v, %d subscriptions", s.ConnectivityState, f.subs["d"])
				}
				for _, addr := range []string{"a:1", "b:1"} {
					all["d"] = leaf(zone("x", 0, addr))
					f.update(`{"cluster":"c"}`, all)
					synctest.Wait()
					f.works(addr)
				}
			})
		})
	}
}

// TestCrowd: clusters that lead to the next one for each of their localities do not come to 3^10 policies.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		all := chain(11)
		for name, c := range all {
			if name != "c11" {
				all[name] = leading(`[{"xds_wrr_locality_experimental":{"childPolicy":`+string(c.Resource.LBPolicy)+`}}]`, zone("x", 0, "a:1"), zone("y", 0, "b:1"), zone("z", 0, "c:1"))
			}
		}
		cc := &lbtest.ClientConn{}
		p := builder{}.Build(cc, balancer.BuildOptions{}).(*policy)
		update := func(all clusters) {
			s := dependency.Attach(resolver.State{}, &dependency.Attachment{Config: &dependency.Config{Clusters: all}, Client: f.client, Subscriber: f})
			if err := p.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: &config{cluster: "c"}}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		update(all)
		below := p.line.below
		if n := below.Load(); n <= maxBelow || n > 2*maxBelow {
			t.Errorf("%d policies", n)
		}
		update(clusters{"c": leaf(zone("x", 0, "a:1"))})
		if n := below.Load(); n != 0 {
			t.Errorf("%d policies stay", n)
		}
		p.Close()
	})
}
