// SPDX-License-Identifier: Apache-2.0

package roundrobin

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestRoundRobin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := &lbtest.ClientConn{}
		b := balancer.Get(Name).Build(cc, balancer.BuildOptions{})
		defer b.Close()
		var s resolver.State
		for _, a := range []string{"a:1", "b:1", "c:1"} {
			s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
		}
		if err := b.UpdateClientConnState(balancer.ClientConnState{ResolverState: s}); err != nil {
			t.Fatal(err)
		}
		for _, a := range []string{"a:1", "b:1"} {
			sc := cc.SubConn(a)
			sc.Report(connectivity.Connecting, nil)
			sc.Report(connectivity.Ready, nil)
			if !sc.ReportHealth(connectivity.Ready, nil) {
				t.Errorf("%s: nobody listens to the health", a)
			}
		}
		synctest.Wait()
		last, _ := cc.State()
		if last.ConnectivityState != connectivity.Ready {
			t.Fatalf("state %v", last.ConnectivityState)
		}
		picks := make(map[balancer.SubConn]int)
		for range 10 {
			r, err := last.Picker.Pick(balancer.PickInfo{})
			if err != nil {
				t.Fatal(err)
			}
			picks[r.SubConn]++
		}
		if picks[cc.SubConn("a:1")] != 5 || picks[cc.SubConn("b:1")] != 5 {
			t.Errorf("picks %v", picks)
		}
	})
}
