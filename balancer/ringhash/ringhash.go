// SPDX-License-Identifier: Apache-2.0

// Package ringhash sends RPCs of the same hash to the same endpoint, and few of them to
// another when endpoints come or go (gRFC A42, A61, A76). The hash is that of a header,
// or comes from the xDS configuration; RPCs without one go anywhere. Importing the
// package registers the policy.
//
// All of it may change or go in a later release.
package ringhash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/balancer/weight"
	"google.golang.org/grpc/internal/balancer/later"
	"google.golang.org/grpc/internal/balancer/petiole"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/ringhash"
	"google.golang.org/grpc/serviceconfig"
)

func init() {
	balancer.Register(builder{})
}

type builder struct{}

func (builder) Name() string { return Name }

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	b := &ringHash{cc: cc}
	child := balancer.Get(pickfirst.Name).Build
	b.Balancer = endpointsharding.NewBalancer(&children{ClientConn: cc, parent: b}, opts, child,
		endpointsharding.Options{DisableAutoReconnect: true})
	return b
}

// ParseConfig returns a *config.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c, err := parseConfig(js, envconfig.RingHashHeader)
	if err != nil {
		return nil, err
	}
	c.limit(envconfig.RingHashCap)
	return c, nil
}

// ringHash is the balancer. What it doesn't do itself, the one for all endpoints does,
// which is embedded.
type ringHash struct {
	balancer.Balancer
	cc balancer.ClientConn

	// mu is taken during reports of the embedded balancer, so it is not held in calls
	// to it.
	mu     sync.Mutex
	config *config
	ring   ring
	owners []resolver.Endpoint           // the members of the ring, by index
	states []endpointsharding.ChildState // the last ones, by index; nil before they came
}

// OwnsSubConns implements subconns.Owner.
func (*ringHash) OwnsSubConns() {}

// children is where the balancer of the endpoints reports to.
type children struct {
	balancer.ClientConn
	parent *ringHash
}

// ChildrenLater implements later.Children: an RPC, or connectOne, asks for the child it needs.
func (c *children) ChildrenLater() later.Mark { return later.Mark{} }

// UpdateState implements balancer.ClientConn.
func (c *children) UpdateState(s balancer.State) { c.parent.report(s) }

// UpdateClientConnState makes a new ring.
func (b *ringHash) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	b.adopt(s.ResolverState.Endpoints, c)
	return petiole.Update(b.Balancer, s)
}

func (b *ringHash) adopt(endpoints []resolver.Endpoint, c *config) {
	owners, members := membersOf(endpoints)
	var r ring
	if len(members) > 0 {
		r = newRing(members, c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config, b.ring, b.owners, b.states = c, r, owners, nil
}

// membersOf leaves out endpoints without an address, and makes one of those that are twice:
// so does the balancer of the endpoints. Where all are members there is no copy of them.
func membersOf(endpoints []resolver.Endpoint) (owners []resolver.Endpoint, members []member) {
	index := resolver.NewEndpointMap[int]()
	for _, e := range endpoints {
		if len(e.Addresses) == 0 {
			continue
		}
		w := uint64(max(weight.FromEndpoint(e).Weight, 1))
		if i, twice := index.Get(e); twice {
			members[i].weight += w
			continue
		}
		index.Set(e, len(members))
		members = append(members, member{key: keyOf(e), weight: w})
		owners = append(owners, e)
	}
	if len(members) == len(endpoints) {
		owners = endpoints
	}
	return owners, members
}

func keyOf(e resolver.Endpoint) string {
	if key := ringhash.HashKey(e); key != "" {
		return key
	}
	return e.Addresses[0].Addr
}

// report replaces state and picker by our own, and keeps one member connecting while
// RPCs may not come to ask for it.
func (b *ringHash) report(s balancer.State) {
	own, members := b.own(endpointsharding.ChildStatesFromPicker(s.Picker))
	if members == nil {
		b.cc.UpdateState(s)
		return
	}
	b.cc.UpdateState(own)
	if own.ConnectivityState == connectivity.Connecting || own.ConnectivityState == connectivity.TransientFailure {
		connectOne(members)
	}
}

// own returns the state of the ring, and those of its members; nil without a ring.
func (b *ringHash) own(reported []endpointsharding.ChildState) (balancer.State, []endpointsharding.ChildState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring.size() == 0 {
		return balancer.State{}, nil
	}
	members := b.members(reported)
	b.states = members
	p := &picker{ring: b.ring, members: members, header: b.config.header}
	for _, m := range members {
		p.connecting = p.connecting || m.State.ConnectivityState == connectivity.Connecting
	}
	return balancer.State{ConnectivityState: aggregate(members), Picker: p}, members
}

// members returns the states in the order of the ring's members. That is the order in which
// they are reported, but between a new ring and the report of its endpoints.
func (b *ringHash) members(reported []endpointsharding.ChildState) []endpointsharding.ChildState {
	if slices.EqualFunc(b.owners, reported, func(e resolver.Endpoint, s endpointsharding.ChildState) bool {
		return sameAddresses(e.Addresses, s.Endpoint.Addresses)
	}) {
		return reported
	}
	return sortMembers(b.owners, reported)
}

func sameAddresses(a, b []resolver.Address) bool {
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(a, b resolver.Address) bool { return a.Addr == b.Addr })
}

// sortMembers puts the states in the order of owners. One that is not reported yet is connecting.
func sortMembers(owners []resolver.Endpoint, reported []endpointsharding.ChildState) []endpointsharding.ChildState {
	states := resolver.NewEndpointMap[endpointsharding.ChildState]()
	for _, s := range reported {
		states.Set(s.Endpoint, s)
	}
	members := make([]endpointsharding.ChildState, len(owners))
	for i, e := range owners {
		s, ok := states.Get(e)
		if !ok {
			s = unreported
		}
		members[i] = s
	}
	return members
}

var unreported = endpointsharding.ChildState{
	State: balancer.State{
		ConnectivityState: connectivity.Connecting,
		Picker:            base.NewErrPicker(balancer.ErrNoSubConnAvailable),
	},
	ExitIdle: func() {},
}

// aggregate has the rules of gRFC A42, by which two failures are enough to have a parent
// look elsewhere.
func aggregate(members []endpointsharding.ChildState) connectivity.State {
	count := make(map[connectivity.State]int)
	for _, m := range members {
		count[m.State.ConnectivityState]++
	}
	failed := count[connectivity.TransientFailure]
	switch {
	case count[connectivity.Ready] > 0:
		return connectivity.Ready
	case failed >= 2:
		return connectivity.TransientFailure
	case count[connectivity.Connecting] > 0, failed == 1 && len(members) > 1:
		return connectivity.Connecting
	case count[connectivity.Idle] > 0:
		return connectivity.Idle
	}
	return connectivity.TransientFailure
}

// connectOne has a member connect, unless one does so already: the first idle one from a
// random one on, so that many clients don't all take the same (gRFC A117).
func connectOne(members []endpointsharding.ChildState) {
	for _, m := range members {
		if m.State.ConnectivityState == connectivity.Connecting {
			return
		}
	}
	first := rand.IntN(len(members))
	for i := range members {
		if m := members[(first+i)%len(members)]; m.State.ConnectivityState == connectivity.Idle {
			m.ExitIdle()
			return
		}
	}
}

// ExitIdle has one member connect, unless one is ready or does so already (gRFC A117).
func (b *ringHash) ExitIdle() {
	b.mu.Lock()
	members := b.states
	b.mu.Unlock()
	if len(members) > 0 && aggregate(members) != connectivity.Ready {
		connectOne(members)
	}
}
