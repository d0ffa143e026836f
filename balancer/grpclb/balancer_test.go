// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// waits fails the test if an RPC does not wait for a server.
func (c *client) waits(t *testing.T, opts ...grpc.CallOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Check(ctx, &healthpb.HealthCheckRequest{}, opts...); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, want it to wait for the load balancer", err)
	}
}

func (b *backend) served() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rpcs
}

// TestErrorBeforeList: an error of the resolver does not end the wait for the load balancer.
func TestErrorBeforeList(t *testing.T) {
	for name, report := range map[string]func(*client){
		"error":        func(c *client) { c.found.CC().ReportError(errors.New("refused")) },
		"no addresses": func(c *client) { c.found.CC().UpdateState(resolver.State{}) },
	} {
		t.Run(name, func(t *testing.T) {
			lb, a, b := newBalancerServer(t), newBackend(t), newBackend(t)
			lb.answer = make(chan struct{})
			c := newClient(t, `{"initialFallbackTimeout": "1000s"}`, found([]string{lb.addr}, b.addr))
			c.cc.Connect()
			<-lb.asked
			report(c)
			c.waits(t)
			close(lb.answer)
			st := lb.stream(t)
			st.list(t, a.server("ta"))
			c.reaches(t, a.addr)
			if n := b.served(); n != 0 {
				t.Errorf("the fallback has served %d RPCs", n)
			}
		})
	}
}

// TestServiceNameChanges: while the load balancer has not answered for the new name, the loss of
// the old list's servers does not end the wait.
func TestServiceNameChanges(t *testing.T) {
	first, second, a, b, next := newBalancerServer(t), newBalancerServer(t), newBackend(t), newBackend(t), newBackend(t)
	second.answer = make(chan struct{})
	c := newClient(t, "{}", found([]string{first.addr}, b.addr))
	c.cc.Connect()
	first.stream(t).list(t, a.server("ta"))
	c.reaches(t, a.addr)
	s := found([]string{second.addr}, b.addr)
	s.ServiceConfig = c.found.CC().ParseServiceConfig(
		`{"loadBalancingConfig": [{"grpclb": {"serviceName": "other", "initialFallbackTimeout": "1000s"}}]}`)
	c.found.UpdateState(s)
	<-second.asked
	a.srv.Stop()
	c.cc.WaitForStateChange(t.Context(), connectivity.Ready)
	c.waits(t, grpc.WaitForReady(true))
	close(second.answer)
	st := second.stream(t)
	if st.name != "other" {
		t.Errorf("asked for %q", st.name)
	}
	st.list(t, next.server("tn"))
	c.reaches(t, next.addr)
	if n := b.served(); n != 0 {
		t.Errorf("the fallback has served %d RPCs", n)
	}
}

// TestOldTimer: a timer that was stopped too late does not act for the one that followed.
func TestOldTimer(t *testing.T) {
	b := newLB(&lbtest.ClientConn{}, balancer.BuildOptions{})
	defer b.Close()
	b.mu.Lock()
	b.startTimer(time.Hour)
	old := b.timer
	b.stopTimer()
	b.startTimer(time.Hour)
	now := b.timer
	b.mu.Unlock()
	b.timedOut(old)
	b.mu.Lock()
	if b.fallback || b.timer != now {
		t.Errorf("fallback %v", b.fallback)
	}
	b.mu.Unlock()
	b.timedOut(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fallback {
		t.Error("no fallback")
	}
}

// TestServersNotConnected: without the load balancer, the fallback begins when no server of the list is connected, also
// while connections to them are being made.
func TestServersNotConnected(t *testing.T) {
	for state, want := range map[connectivity.State]bool{
		connectivity.Ready: false, connectivity.Idle: true, connectivity.Connecting: true, connectivity.TransientFailure: true,
	} {
		b := newLB(&lbtest.ClientConn{}, balancer.BuildOptions{})
		b.mu.Lock()
		b.remote, b.list, b.childState.ConnectivityState = &remote{}, &serverList{}, state
		if got := b.loseServers(); got != want {
			t.Errorf("%v: fallback %v", state, got)
		}
		b.remote = nil
		b.mu.Unlock()
		b.Close()
	}
}

// clonedCreds tell when they are cloned.
type clonedCreds struct {
	credentials.TransportCredentials
	cloned func()
}

func (c clonedCreds) Clone() credentials.TransportCredentials {
	c.cloned()
	return c.TransportCredentials.Clone()
}

// TestRemoteIsMadeUnlocked: making the channel to the load balancer calls the program's code.
func TestRemoteIsMadeUnlocked(t *testing.T) {
	var b *lb
	cloned := 0
	creds := clonedCreds{insecure.NewCredentials(), func() {
		cloned++
		if !b.mu.TryLock() {
			t.Error("the credentials are cloned with the balancer's lock held")
			return
		}
		b.mu.Unlock()
	}}
	b = newLB(&lbtest.ClientConn{}, balancer.BuildOptions{DialCreds: creds})
	defer b.Close()
	for range 2 {
		if err := b.UpdateClientConnState(balancer.ClientConnState{ResolverState: found([]string{"127.0.0.1:1"})}); err != nil || cloned != 1 {
			t.Errorf("error %v, cloned %d times", err, cloned)
		}
	}
}

// modeless is a bundle without modes, which does not say so.
type modeless struct{ credentials.Bundle }

func (modeless) NewWithMode(string) (credentials.Bundle, error) { return nil, nil }

// TestBundleWithoutModes: such a bundle is used as it is.
func TestBundleWithoutModes(t *testing.T) {
	if got := mode(modeless{}, "any"); got != (modeless{}) {
		t.Errorf("%v", got)
	}
	if got := mode(nil, "any"); got != nil {
		t.Errorf("%v in place of none", got)
	}
}
