// SPDX-License-Identifier: Apache-2.0

package resolver_test

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
)

func TestAddressMap(t *testing.T) {
	var (
		plain  = resolver.Address{Addr: "a"}
		named  = resolver.Address{Addr: "a", ServerName: "s"}
		attr1  = resolver.Address{Addr: "a", Attributes: attributes.New("k", 1)}
		attr2  = resolver.Address{Addr: "a", Attributes: attributes.New("k", 2)}
		other  = resolver.Address{Addr: "b"}
		all    = []resolver.Address{plain, named, attr1, attr2, other}
		m      = resolver.NewAddressMapV2[int]()
		values = func() []int { return slices.Sorted(maps.Values(maps.Collect(m.All()))) }
	)
	for i, a := range all {
		m.Set(a, i)
	}
	if m.Len() != len(all) {
		t.Fatalf("%d addresses, want %d", m.Len(), len(all))
	}
	for i, a := range all {
		if got, ok := m.Get(a); !ok || got != i {
			t.Errorf("%v: %d, %t", a, got, ok)
		}
	}

	same := attr1
	same.Attributes = attributes.New("k", 1)
	same.BalancerAttributes = attributes.New("x", 1)
	same.Metadata = "m"
	m.Set(same, 22)
	if got, _ := m.Get(attr1); got != 22 || m.Len() != len(all) {
		t.Errorf("the same key: value %d, %d addresses", got, m.Len())
	}

	m.Delete(attr2)
	m.Delete(attr2)
	m.Delete(resolver.Address{Addr: "none"})
	if _, ok := m.Get(attr2); ok || m.Len() != 4 {
		t.Errorf("after Delete: %t, %d addresses", ok, m.Len())
	}
	m.Delete(other)
	if got := slices.Sorted(slices.Values(m.Values())); !slices.Equal(got, []int{0, 1, 22}) {
		t.Errorf("values %v", got)
	}
	if got := len(m.Keys()); got != 3 {
		t.Errorf("%d keys", got)
	}
	if got := values(); !slices.Equal(got, []int{0, 1, 22}) {
		t.Errorf("All: %v", got)
	}
	for range m.All() {
		break // a walk may end early
	}
	if _, ok := resolver.NewAddressMap().Get(plain); ok {
		t.Error("a new map holds something")
	}
}

func TestAddressMapDeleteDuringAll(t *testing.T) {
	m := resolver.NewAddressMapV2[int]()
	for i := range 10 {
		m.Set(resolver.Address{Addr: "a", Attributes: attributes.New("k", i)}, i)
	}
	seen := 0
	for a := range m.All() {
		seen++
		m.Delete(a)
	}
	if seen != 10 || m.Len() != 0 {
		t.Errorf("saw %d of 10, %d are left", seen, m.Len())
	}
}
