// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"slices"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func endpoint(addr string, path ...string) resolver.Endpoint {
	e := resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}}
	if path == nil {
		return e
	}
	return Set(e, path)
}

func TestGroup(t *testing.T) {
	groups := Group([]resolver.Endpoint{
		endpoint("1", "a", "x"), endpoint("2", "b"), endpoint("3", "a", "y", "z"), endpoint("4"), Set(endpoint("5"), nil),
	})
	if len(groups) != 2 {
		t.Fatalf("groups %v", groups)
	}
	for name, want := range map[string][]resolver.Endpoint{
		"a": {endpoint("1", "x"), endpoint("3", "y", "z")},
		"b": {Set(endpoint("2"), []string{})},
	} {
		equal := slices.EqualFunc(groups[name], want, func(x, y resolver.Endpoint) bool {
			return x.Addresses[0].Addr == y.Addresses[0].Addr && slices.Equal(FromEndpoint(x), FromEndpoint(y))
		})
		if !equal {
			t.Errorf("%s: %v, want %v", name, groups[name], want)
		}
	}
}

func TestEqual(t *testing.T) {
	a, b, c := endpoint("1", "a", "b"), endpoint("1", "a", "b"), endpoint("1", "a")
	if !a.Attributes.Equal(b.Attributes) || a.Attributes.Equal(c.Attributes) {
		t.Error("paths are not compared by their names")
	}
}
