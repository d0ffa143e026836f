// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// numbered returns a state whose address is n, with a service config whose limit for requests is n.
func numbered(n int) resolver.State {
	return resolver.State{
		Addresses:     []resolver.Address{{Addr: fmt.Sprint(n)}},
		ServiceConfig: parseServiceConfig(fmt.Sprintf(`{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":%d}],"loadBalancingConfig":[{"test_scripted":{}}]}`, n), false),
	}
}

// updated makes a channel with a resolver that has reported nothing. last returns the number of the
// service config that RPCs use, and the address that the policy has.
func updated(t *testing.T) (conn resolver.ClientConn, last func() (config int, address string)) {
	var mu sync.Mutex
	var has string
	scripts.Lock()
	scripts.update = func(p *scripted, s balancer.ClientConnState) error {
		mu.Lock()
		defer mu.Unlock()
		has = s.ResolverState.Endpoints[0].Addresses[0].Addr
		p.UpdateState(balancer.State{ConnectivityState: connectivity.Idle, Picker: pickFunc(nil)})
		return nil
	}
	scripts.Unlock()
	r := manual.NewBuilderWithScheme("updates")
	cc := newTestClient(t, "updates:///x", WithResolvers(r))
	cc.Connect()
	return r.CC(), func() (config int, address string) {
		mu.Lock()
		defer mu.Unlock()
		if size := cc.GetMethodConfig(unaryMethod).MaxReqSize; size != nil {
			config = *size
		}
		return config, has
	}
}

// TestConcurrentUpdates: of states that a resolver reports at once, the service config that RPCs use
// and the addresses that the policy has are from the same one.
func TestConcurrentUpdates(t *testing.T) {
	conn, last := updated(t)
	states := [...]resolver.State{numbered(1), numbered(2)}
	for range 5000 {
		var wg sync.WaitGroup
		for _, s := range states {
			wg.Go(func() { _ = conn.UpdateState(s) })
		}
		wg.Wait()
		if config, address := last(); fmt.Sprint(config) != address {
			t.Fatalf("the service config is of state %v, the addresses are of state %v", config, address)
		}
	}
}
