// SPDX-License-Identifier: Apache-2.0

package endpointsharding

import (
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/serial"
	"google.golang.org/grpc/resolver"
)

// news is what came from the resolver. It does not change.
type news struct {
	state balancer.ClientConnState
	err   error // nil: none came after state
}

// child is one endpoint. The sharding's lock guards it.
type child struct {
	index  int     // among the sharding's children; gone when it is none of them
	policy *policy // nil before it is built
}

const gone = -1

// roster is the children and what is known of them, in the resolver's order. Only calls from above
// replace it.
type roster struct {
	children []*child
	states   []ChildState
	shared   bool // a picker has the states, which do not change any more
}

// replace makes wanted the children, and returns the policies of the former ones that are not
// among them.
func (r *roster) replace(wanted []*child, states []ChildState) (over []*policy) {
	for _, c := range r.children {
		c.index = gone
	}
	for i, c := range wanted {
		c.index = i
	}
	for _, c := range r.children {
		if c.index == gone && c.policy != nil {
			over = append(over, c.policy)
		}
	}
	r.children, r.states, r.shared = wanted, states, false
	return over
}

// set notes the state of a child.
func (r *roster) set(index int, s balancer.State) {
	if r.shared {
		r.states, r.shared = slices.Clone(r.states), false
	}
	r.states[index].State = s
}

// share returns the states for a picker.
func (r *roster) share() []ChildState {
	r.shared = true
	return r.states
}

// policy is what a child has built. Who reaches it first calls start, so that all others find it
// built, and told of what it was built for.
type policy struct {
	serial.Child
	once  sync.Once
	begin func() // what start does; nil afterwards
}

// tell has start tell the policy what came from the resolver before it was built.
func (p *policy) tell(s balancer.ClientConnState, resolverErr error) {
	build := p.begin
	p.begin = func() {
		build()
		// Whoever brought the state has long been told that all was well, so the resolver
		// has to be asked here.
		if err := p.UpdateClientConnState(s); errors.Is(err, balancer.ErrBadResolverState) {
			p.ResolveNow(resolver.ResolveNowOptions{})
		}
		if resolverErr != nil {
			p.ResolverError(resolverErr)
		}
	}
}

// start builds the policy, or waits until it is built.
func (p *policy) start() {
	p.once.Do(func() {
		p.begin()
		p.begin = nil
	})
}

// ownState is what the child of an endpoint hears.
func ownState(s balancer.ClientConnState, e resolver.Endpoint) balancer.ClientConnState {
	s.ResolverState.Endpoints = []resolver.Endpoint{e}
	s.ResolverState.Addresses = e.Addresses
	return s
}

// told is a policy that has to hear of its endpoint.
type told struct {
	*policy
	endpoint resolver.Endpoint
}
