// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"slices"
	"testing"

	"google.golang.org/grpc/resolver"
)

func TestLimit(t *testing.T) {
	var l Limit
	var seen []int
	stop := l.Watch(func(n int) { seen = append(seen, n) })
	for _, n := range []int{0, 3, 3, -1, 5} {
		l.Set(n)
	}
	stop()
	l.Set(7)
	l.Watch(func(n int) { seen = append(seen, n) })()
	if want := []int{1, 3, 1, 5, 7}; !slices.Equal(seen, want) {
		t.Errorf("told %v, want %v", seen, want)
	}
}

func TestAttach(t *testing.T) {
	var l, other Limit
	a := resolver.Address{Addr: "a"}
	if Of(a) != nil {
		t.Error("a limit that nobody attached")
	}
	b := Attach(a, &l)
	if Of(b) != &l || !b.Equal(Attach(a, &l)) || b.Equal(Attach(a, &other)) {
		t.Error("the limit is not a part of the address")
	}
}
