// SPDX-License-Identifier: Apache-2.0

// Package ringhash has a policy that sends RPCs with the same hash to the same endpoint. When
// endpoints come or go, few hashes move to another endpoint (gRFC A42, A61, A76). The hash is that
// of a header, or comes from the xDS configuration. An RPC without the header goes to a random
// endpoint. Importing the package registers the policy.
//
// All of this package may change or be removed in a later release.
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

// ringHash is the balancer. The embedded endpointsharding balancer has a child for each endpoint,
// and the methods that ringHash has not.
type ringHash struct {
	balancer.Balancer
	cc balancer.ClientConn

	// mu is taken in reports of the embedded balancer, so it must not be held in calls of it.
	mu     sync.Mutex
	config *config
	ring   ring
	owners []resolver.Endpoint           // the members of the ring, by index
	states []endpointsharding.ChildState // the members' last states, by index; nil until the first report after an update
}

// OwnsSubConns implements subconns.Owner.
func (*ringHash) OwnsSubConns() {}

// children is the ClientConn of the embedded balancer.
type children struct {
	balancer.ClientConn
	parent *ringHash
}

// ChildrenLater implements later.Children: the picker and connectOne call ExitIdle of the child
// that they need.
func (c *children) ChildrenLater() later.Mark { return later.Mark{} }

// UpdateState implements balancer.ClientConn.
func (c *children) UpdateState(s balancer.State) { c.parent.report(s) }

// UpdateClientConnState makes a new ring and passes the endpoints to the embedded balancer.
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

// membersOf returns the ring's members and their endpoints. Like the embedded balancer, it leaves
// out endpoints without an address, and makes one member of endpoints with the same addresses. If
// every endpoint is a member, owners is endpoints itself, to save a copy.
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

// report replaces the embedded balancer's state and picker with the ring's, and passes them to the
// channel. In Connecting and TransientFailure it keeps one member connecting, as RPCs may not make
// one connect.
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

// own returns the state of the ring, and the states of its members, which are nil without a ring.
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

// members returns the reported states in the order of the ring's members. They have that order
// already, except after an update has made a new ring and before the embedded balancer reports the
// new endpoints.
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

// sortMembers returns the states in the order of owners. A member without a report counts as
// connecting.
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

// aggregate returns the state of the ring by the rules of gRFC A42. Two failed members are enough
// for TransientFailure, which makes a parent use another policy.
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

// connectOne makes an idle member connect, unless a member is connecting. It begins the search at a
// random member, so that many clients don't all choose the same one (gRFC A117).
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

// ExitIdle makes one member connect, unless a member is ready or connecting (gRFC A117).
func (b *ringHash) ExitIdle() {
	b.mu.Lock()
	members := b.states
	b.mu.Unlock()
	if len(members) > 0 && aggregate(members) != connectivity.Ready {
		connectOne(members)
	}
}
