// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// register records what happens to the subchannels of a policy whose parent is a policy of the program's.
type register struct {
	mu   sync.Mutex
	shut []int // how often the policy has called Shutdown, by subchannel
	told []int // how often it was told of the state Shutdown
}

// ownSubConn is a subchannel as the parent hands it out.
type ownSubConn struct {
	balancer.SubConn
	r *register
	i int
}

func (s *ownSubConn) Shutdown() {
	s.r.mu.Lock()
	s.r.shut[s.i]++
	s.r.mu.Unlock()
	s.SubConn.Shutdown()
}

// slicedSubConn is one that can't be compared.
type slicedSubConn struct {
	*ownSubConn
	_ []int
}

// parentCC hands out subchannels of its own, and takes them back from the picker.
type parentCC struct {
	balancer.ClientConn
	r      *register
	sliced bool
}

func (c parentCC) NewSubConn(a []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	c.r.mu.Lock()
	s := &ownSubConn{r: c.r, i: len(c.r.shut)}
	c.r.shut, c.r.told = append(c.r.shut, 0), append(c.r.told, 0)
	c.r.mu.Unlock()
	listener := o.StateListener
	o.StateListener = func(state balancer.SubConnState) {
		if state.ConnectivityState == connectivity.Shutdown {
			c.r.mu.Lock()
			c.r.told[s.i]++
			c.r.mu.Unlock()
		}
		listener(state)
	}
	var err error
	if s.SubConn, err = c.ClientConn.NewSubConn(a, o); err != nil {
		return nil, err
	}
	if c.sliced {
		return slicedSubConn{ownSubConn: s}, nil
	}
	return s, nil
}

func (c parentCC) UpdateState(s balancer.State) {
	s.Picker = parentPicker{s.Picker}
	c.ClientConn.UpdateState(s)
}

type parentPicker struct{ balancer.Picker }

func (q parentPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	r, err := q.Picker.Pick(info)
	switch sc := r.SubConn.(type) {
	case *ownSubConn:
		r.SubConn = sc.SubConn
	case slicedSubConn:
		r.SubConn = sc.SubConn
	}
	return r, err
}

// subchannelProbes have a policy of the module below one of a program.
func subchannelProbes() []probe.Probe {
	var out []probe.Probe
	for _, policy := range []string{"pick_first", "round_robin", "least_request_experimental", "weighted_round_robin", "ring_hash_experimental"} {
		for _, sliced := range []bool{false, true} {
			name := "its subchannels"
			if sliced {
				name = "subchannels that cannot be compared"
			}
			out = append(out, probe.Probe{Name: "policy/" + policy + " and " + name, Alone: sliced, Run: func(p *probe.P) {
				r := new(register)
				cc, m := manualChannel(p, registered(p, r, policy, sliced), quick)
				m.InitialState(addresses(server(p), server(p)))
				p.Printf("%s", call(oneHash(p.Context()), cc, grpc.WaitForReady(true)))
				p.Printf("%v", m.CC().UpdateState(addresses(server(p))))
				p.Printf("%s", call(oneHash(p.Context()), cc, grpc.WaitForReady(true)))
				p.Printf("%v", m.CC().UpdateState(resolver.State{}) != nil)
				p.Printf("%v", m.CC().UpdateState(addresses(server(p))))
				p.Printf("%s", call(oneHash(p.Context()), cc, grpc.WaitForReady(true)))
				_ = cc.Close()
				probe.Settle(50 * time.Millisecond)
				r.mu.Lock()
				defer r.mu.Unlock()
				p.Printf("some: %v", len(r.shut) > 0)
				for i, n := range r.shut {
					if n > 1 || r.told[i] > 1 {
						p.Printf("Shutdown is called %d times, and told %d times", n, r.told[i])
					}
				}
			}})
		}
	}
	return out
}

// registered makes a channel use a policy of the module, below one that registers its
// subchannels.
func registered(p *probe.P, r *register, policy string, sliced bool) grpc.DialOption {
	return withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
		b := balancer.Get(policy)
		child := b.Build(parentCC{cc, r, sliced}, o)
		var lb serviceconfig.LoadBalancingConfig
		if parser, is := b.(balancer.ConfigParser); is {
			lb, _ = parser.ParseConfig(json.RawMessage(`{}`))
		}
		return configured{child, lb}
	})
}
