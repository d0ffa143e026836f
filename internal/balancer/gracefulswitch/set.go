// SPDX-License-Identifier: Apache-2.0

package gracefulswitch

import "google.golang.org/grpc/balancer"

// subConnSet is a set of SubConns. Most hold one, which takes no map.
type subConnSet struct {
	one  balancer.SubConn
	more map[balancer.SubConn]struct{}
}

func (s *subConnSet) add(sc balancer.SubConn) {
	if s.one == nil {
		s.one = sc
		return
	}
	if s.more == nil {
		s.more = make(map[balancer.SubConn]struct{})
	}
	s.more[sc] = struct{}{}
}

func (s *subConnSet) remove(sc balancer.SubConn) {
	if s.one == sc {
		s.one = nil
		return
	}
	delete(s.more, sc)
}

// all yields the members, for range.
func (s subConnSet) all(yield func(balancer.SubConn) bool) {
	if s.one != nil && !yield(s.one) {
		return
	}
	for sc := range s.more {
		if !yield(sc) {
			return
		}
	}
}
