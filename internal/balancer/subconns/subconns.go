// SPDX-License-Identifier: Apache-2.0

// Package subconns has the set in which policies keep the SubConns of their children.
package subconns

import "google.golang.org/grpc/balancer"

// Owner is a policy whose Close shuts down all SubConns that it has made, so that its parent need not.
// If a policy is not an Owner, its parent shuts down its SubConns after Close. In either case a
// StateListener hears of the end of each SubConn once.
type Owner interface {
	balancer.Balancer

	// OwnsSubConns does nothing: it marks the policy.
	OwnsSubConns()
}

// Left returns the SubConns of s that the closed policy left open: none if it is an Owner,
// otherwise all.
func (s Set) Left(policy balancer.Balancer) Set {
	if _, ok := policy.(Owner); ok {
		return Set{}
	}
	return s
}

// Set is a set of SubConns. The zero value is empty. Most sets have one member, which takes no map.
// A member is identified by the address of the variable that holds it, as SubConns that a program
// makes need not be comparable.
type Set struct {
	one  *balancer.SubConn
	more map[*balancer.SubConn]struct{}
}

// Add adds the SubConn *sc. The pointer identifies it, so the SubConn must stay in that variable.
func (s *Set) Add(sc *balancer.SubConn) {
	if s.one == nil {
		s.one = sc
		return
	}
	if s.more == nil {
		s.more = make(map[*balancer.SubConn]struct{})
	}
	s.more[sc] = struct{}{}
}

// Remove removes the SubConn *sc, if it is a member.
func (s *Set) Remove(sc *balancer.SubConn) {
	if s.one == sc {
		s.one = nil
		return
	}
	delete(s.more, sc)
}

// All yields the members, for range.
func (s Set) All(yield func(balancer.SubConn) bool) {
	if s.one != nil && !yield(*s.one) {
		return
	}
	for sc := range s.more {
		if !yield(*sc) {
			return
		}
	}
}
