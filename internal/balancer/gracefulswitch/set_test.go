// SPDX-License-Identifier: Apache-2.0

package gracefulswitch

import (
	"testing"

	"google.golang.org/grpc/balancer"
)

type namedSubConn struct {
	balancer.SubConn
	name string
}

func TestSubConnSet(t *testing.T) {
	a, b, c := namedSubConn{name: "a"}, namedSubConn{name: "b"}, namedSubConn{name: "c"}
	var s subConnSet
	members := func() (n int) {
		for sc := range s.all {
			if sc == nil {
				t.Error("nil is a member")
			}
			n++
		}
		return n
	}
	for i, step := range []struct {
		change func()
		want   int
	}{
		{func() { s.remove(a) }, 0},
		{func() { s.add(a) }, 1},
		{func() { s.add(b) }, 2},
		{func() { s.add(c) }, 3},
		{func() { s.remove(nil) }, 3},
		{func() { s.remove(a) }, 2},
		{func() { s.add(a) }, 3},
		{func() { s.remove(b) }, 2},
		{func() { s.remove(b) }, 2},
		{func() { s.remove(a); s.remove(c) }, 0},
	} {
		if step.change(); members() != step.want {
			t.Fatalf("step %d: %d members, want %d", i, members(), step.want)
		}
	}
	s.add(a)
	s.add(b)
	for range s.all {
		break // must not go on
	}
}
