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

// news is the last update from the resolver. It does not change.
type news struct {
	state balancer.ClientConnState
	err   error // the resolver's error after state; nil if there was none
}

// child is the child of one endpoint. The sharding's mu guards it.
type child struct {
	index  int     // its index in the sharding's children; gone if it is not among them any more
	policy *policy // nil until it is made
}

const gone = -1

// roster has the children and their states, in the resolver's order. Only calls of the sharding's
// methods by its parent replace it.
type roster struct {
	children []*child
	states   []ChildState
	shared   bool // a picker has states too, so set copies the slice before it changes it
}

// replace makes wanted the children. It returns the policies of former children that are not in
// wanted.
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

// set stores the state of a child.
func (r *roster) set(index int, s balancer.State) {
	if r.shared {
		r.states, r.shared = slices.Clone(r.states), false
	}
	r.states[index].State = s
}

// share returns the states for a picker, which may keep them.
func (r *roster) share() []ChildState {
	r.shared = true
	return r.states
}

// policy is the policy of a child. Every goroutine calls start before it passes anything to the
// policy: the first call builds the policy and gives it the resolver's update, and others wait for
// that.
type policy struct {
	serial.Child
	once  sync.Once
	begin func() // the function that start calls; nil afterwards
}

// tell makes start pass the resolver's last state and error to the policy after it has built it.
func (p *policy) tell(s balancer.ClientConnState, resolverErr error) {
	build := p.begin
	p.begin = func() {
		build()
		// The call that brought the state has returned without an error, so the channel does not
		// know that it must ask the resolver again.
		if err := p.UpdateClientConnState(s); errors.Is(err, balancer.ErrBadResolverState) {
			p.ResolveNow(resolver.ResolveNowOptions{})
		}
		if resolverErr != nil {
			p.ResolverError(resolverErr)
		}
	}
}

// start builds the policy if it is not built, and waits until it is.
func (p *policy) start() {
	p.once.Do(func() {
		p.begin()
		p.begin = nil
	})
}

// ownState returns the state for the child of an endpoint: s with e as the only endpoint.
func ownState(s balancer.ClientConnState, e resolver.Endpoint) balancer.ClientConnState {
	s.ResolverState.Endpoints = []resolver.Endpoint{e}
	s.ResolverState.Addresses = e.Addresses
	return s
}

// told is a policy to which an update must be passed, and its endpoint.
type told struct {
	*policy
	endpoint resolver.Endpoint
}
