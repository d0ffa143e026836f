// SPDX-License-Identifier: Apache-2.0

// Package subconns is what policies keep SubConns in.
package subconns

import "google.golang.org/grpc/balancer"

// Owner is a policy whose Close shuts down all SubConns that it has made. Its parent leaves them alone
// then. Those of any other policy the parent shuts down when the policy is closed, so that a program's
// StateListener hears of each end once in either case.
type Owner interface {
	balancer.Balancer

	// OwnsSubConns does nothing: it marks the policy.
	OwnsSubConns()
}

// Left are the SubConns of s that a policy leaves behind when it is closed.
func (s Set) Left(policy balancer.Balancer) Set {
	if _, ok := policy.(Owner); ok {
		return Set{}
	}
	return s
}

// Set is a set of SubConns, at first an empty one. Most hold one, which takes no map. A member
// is known by where it is kept: the SubConns that a program makes need not be comparable.
type Set struct {
	one  *balancer.SubConn
	more map[*balancer.SubConn]struct{}
}

// Add adds a member. It must stay in its place.
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

// Remove removes a member, if it is one.
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
