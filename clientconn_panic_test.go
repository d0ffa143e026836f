// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"runtime"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
)

// TestPolicyDoesNotReturn: a policy that panics, or ends its goroutine, in the first update harms
// neither the channel's Close nor, if the program recovers, the next RPC, which finds the channel
// idle.
func TestPolicyDoesNotReturn(t *testing.T) {
	for name, end := range map[string]func(){
		"panic":  func() { panic("a policy") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, newEcho()).addr
			first, closed := true, new(atomic.Int32)
			cc := scriptedChannel(t, addr, func(s *scripted, state balancer.ClientConnState) error {
				s.closed = func() { closed.Add(1) }
				if first {
					first = false
					end()
				}
				sc, err := s.subConn(state.ResolverState.Addresses, balancer.NewSubConnOptions{}, pickOf(balancer.PickResult{}))
				if err == nil {
					sc.Connect()
				}
				return err
			})
			over := make(chan struct{})
			go func() {
				defer close(over)
				defer func() { _ = recover() }()
				cc.Connect()
			}()
			<-over
			if s := cc.GetState(); s != connectivity.Idle {
				t.Errorf("the channel is %v", s)
			}
			wantCode(t, "the next RPC", call(testContext(t), cc, "x"), codes.OK)
			_ = cc.Close()
			if n := closed.Load(); n != 2 {
				t.Errorf("%d policies are closed, want 2", n)
			}
		})
	}
}
