// SPDX-License-Identifier: Apache-2.0

package resolver_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/resolver"
)

func endpoint(addrs ...string) resolver.Endpoint {
	var e resolver.Endpoint
	for _, a := range addrs {
		e.Addresses = append(e.Addresses, resolver.Address{Addr: a})
	}
	return e
}

func TestEndpointMap(t *testing.T) {
	m := resolver.NewEndpointMap[int]()
	m.Set(endpoint("a", "b"), 1)
	for _, tt := range []struct {
		e  resolver.Endpoint
		ok bool
	}{
		{endpoint("a", "b"), true},
		{endpoint("b", "a"), true},
		{endpoint("b", "a", "b"), false},
		{endpoint("a"), false},
		{endpoint("ab"), false},
		{endpoint("a", "b", "c"), false},
		{endpoint("a", "b", ""), false},
		{endpoint("a\x01b"), false},
		{endpoint(), false},
	} {
		if got, ok := m.Get(tt.e); ok != tt.ok || ok && got != 1 {
			t.Errorf("%v: %d, %t", tt.e, got, ok)
		}
	}
	m.Set(endpoint("b", "a"), 2)
	m.Set(endpoint(), 3)
	if m.Len() != 2 {
		t.Errorf("%d endpoints, want 2", m.Len())
	}
	if got := slices.Sorted(slices.Values(m.Values())); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("values %v", got)
	}
	if got := len(m.Keys()); got != 2 {
		t.Errorf("%d keys", got)
	}
	m.Delete(endpoint("a", "b"))
	if _, ok := m.Get(endpoint("a", "b")); ok || m.Len() != 1 {
		t.Error("Delete left the endpoint")
	}
	for range m.All() {
		break
	}
}
