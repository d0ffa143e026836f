// SPDX-License-Identifier: Apache-2.0

package gracefulswitch

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/resolver"
)

// restless builds policies that make SubConns and report states from goroutines of
// their own until they are closed.
type restless struct {
	name    string
	running *sync.WaitGroup
}

type restlessPolicy struct {
	policy
	stop chan struct{}
}

func (r *restless) Name() string { return r.name }

func (r *restless) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	p := &restlessPolicy{stop: make(chan struct{})}
	r.running.Go(func() {
		picker := base.NewErrPicker(balancer.ErrNoSubConnAvailable)
		for i := 0; ; i++ {
			select {
			case <-p.stop:
				return
			default:
			}
			cc.UpdateState(balancer.State{ConnectivityState: connectivity.State(i % 4), Picker: picker})
			if i < 20 {
				//lint:ignore SA1019 one address
				_, _ = cc.NewSubConn([]resolver.Address{{Addr: "x"}}, balancer.NewSubConnOptions{
					StateListener: func(balancer.SubConnState) {},
				})
			}
			cc.ResolveNow(resolver.ResolveNowOptions{})
		}
	})
	return p
}

func (p *restlessPolicy) Close() { close(p.stop) } // panics when called twice

// forgetful is a channel that keeps SubConns only: states come without end.
type forgetful struct{ lbtest.ClientConn }

func (*forgetful) UpdateState(balancer.State) {}

func TestConcurrentUse(t *testing.T) {
	var running sync.WaitGroup
	cc := &forgetful{}
	lb := New(cc, balancer.BuildOptions{})
	for i := range 50 {
		b := &restless{name: fmt.Sprint("policy ", i), running: &running}
		if err := lb.UpdateClientConnState(balancer.ClientConnState{BalancerConfig: &Config{Child: b}}); err != nil {
			t.Fatal(err)
		}
		for _, sc := range cc.SubConns() {
			// Not Shutdown: that would say that nobody has to shut it down any more.
			sc.Report(connectivity.State(i%4), nil)
		}
		lb.ExitIdle()
	}
	lb.Close()
	// Every policy is closed exactly once, or this would not return.
	running.Wait()
	for _, sc := range cc.SubConns() {
		if !sc.IsShutdown() {
			t.Error("Close left a SubConn")
		}
	}
}
