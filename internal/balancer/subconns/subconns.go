// SPDX-License-Identifier: Apache-2.0

// Package subconns is what policies keep SubConns in.
package subconns

import "google.golang.org/grpc/balancer"

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
