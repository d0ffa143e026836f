// SPDX-License-Identifier: Apache-2.0

package done_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestJoin(t *testing.T) {
	var got []string
	note := func(s string) done.Func {
		return func(i balancer.DoneInfo) {
			if i.BytesSent {
				got = append(got, s)
			}
		}
	}
	a, b, c := note("a"), note("b"), note("c")
	info := balancer.DoneInfo{BytesSent: true}
	if done.Join(nil, nil) != nil {
		t.Error("two of nothing are something")
	}
	done.Join(a, nil)(info)
	done.Join(nil, b)(info)
	done.Join(done.Join(a, b), c)(info)
	done.Join(a, done.Join(b, c))(info)
	if want := []string{"a", "b", "a", "b", "c", "a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
