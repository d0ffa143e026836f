// SPDX-License-Identifier: Apache-2.0

package done_test

import (
	"errors"
	"fmt"
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

func TestWasUnused(t *testing.T) {
	err := errors.New("x")
	for _, tt := range []struct {
		info balancer.DoneInfo
		want bool
	}{
		{balancer.DoneInfo{}, true},
		{balancer.DoneInfo{BytesSent: true}, false},
		{balancer.DoneInfo{Err: err}, false},
		{balancer.DoneInfo{Err: done.Lost(err)}, true},
		{balancer.DoneInfo{Err: fmt.Errorf("by a policy: %w", done.Lost(err))}, true},
	} {
		if got := done.WasUnused(tt.info); got != tt.want {
			t.Errorf("%+v: %t", tt.info, got)
		}
	}
}
