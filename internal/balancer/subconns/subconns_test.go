// SPDX-License-Identifier: Apache-2.0

package subconns

import (
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// slicedSubConn can't be compared.
type slicedSubConn struct {
	balancer.SubConn
	_ []int
}

func TestSet(t *testing.T) {
	var places [3]balancer.SubConn
	for i := range places {
		places[i] = slicedSubConn{}
	}
	a, b, c := &places[0], &places[1], &places[2]
	var s Set
	members := func() (n int) {
		for sc := range s.All {
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
		{func() { s.Remove(a) }, 0},
		{func() { s.Add(a) }, 1},
		{func() { s.Add(b) }, 2},
		{func() { s.Add(c) }, 3},
		{func() { s.Remove(nil) }, 3},
		{func() { s.Remove(a) }, 2},
		{func() { s.Add(a) }, 3},
		{func() { s.Remove(b) }, 2},
		{func() { s.Remove(b) }, 2},
		{func() { s.Remove(a); s.Remove(c) }, 0},
	} {
		if step.change(); members() != step.want {
			t.Fatalf("step %d: %d members, want %d", i, members(), step.want)
		}
	}
	s.Add(a)
	s.Add(b)
	for range s.All {
		break // must not go on
	}
}
