// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/serviceconfig"
)

// hookedBuilder has hook called where a child's configuration is parsed, that is while the child is being told.
type hookedBuilder struct {
	childBuilder
	hook func()
}

func (b *hookedBuilder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	b.hook()
	return b.childBuilder.ParseConfig(text)
}

// newLB returns a balancer without a lookup service, of which children are built by policy.
func newLB(t *testing.T, policy balancer.Builder) *lb {
	b := builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{}).(*lb)
	t.Cleanup(b.Close)
	b.config = &lbConfig{policy: policy, targetField: "backend", maxAge: time.Hour}
	b.cache.max = 1 << 40
	return b
}

// TestChildEndsWhileItIsTold: that a child is closed while it is told the state is no error: nobody holds it any more.
func TestChildEndsWhileItIsTold(t *testing.T) {
	for _, built := range []bool{false, true} {
		policy := &hookedBuilder{hook: func() {}}
		b := newLB(t, policy)
		b.mu.Lock()
		c := b.hold("target")
		b.mu.Unlock()
		if built {
			if err := b.tell(c); err != nil {
				t.Fatal(err)
			}
		}
		policy.hook = func() {
			b.mu.Lock()
			b.drop(c)
			dead := b.collect()
			b.mu.Unlock()
			if len(dead) != 1 {
				t.Errorf("%d children end", len(dead))
			}
			closeAll(dead)
		}
		if err := b.tell(c); err != nil {
			t.Errorf("built before %v: %v", built, err)
		}
	}
}

// TestBalancerEndsWhileAChildIsTold: nor is it if that is because the balancer is closed.
func TestBalancerEndsWhileAChildIsTold(t *testing.T) {
	policy := &hookedBuilder{}
	b := newLB(t, policy)
	policy.hook = b.Close
	b.mu.Lock()
	c := b.hold("target")
	b.defaultTarget = c
	b.mu.Unlock()
	if err := b.tell(c); err != nil {
		t.Error(err)
	}
}

// TestResolverErrorBeforeTheFirstState: a child that has not got its first state yet is not told of an error of the
// resolver. Its policy would report a failure, which would last until it is connected.
func TestResolverErrorBeforeTheFirstState(t *testing.T) {
	b := newLB(t, &hookedBuilder{hook: func() {}})
	b.mu.Lock()
	c := b.hold("target")
	b.mu.Unlock()
	c.policy.Build(c.build, b.opts) // the first thing that tell does
	b.ResolverError(errors.New("of the resolver"))
	if c.state.ConnectivityState != connectivity.Connecting {
		t.Errorf("the child is %v", c.state.ConnectivityState)
	}
}
