// SPDX-License-Identifier: Apache-2.0

package locality

import (
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestLocality(t *testing.T) {
	var none resolver.Endpoint
	if _, ok := Of(none); ok || HealthOf(none) != resource.Unknown {
		t.Error("an endpoint without a locality has one")
	}
	want := Info{ID: resource.LocalityID{Zone: "z"}, Weight: 3}
	e := SetHealth(Set(none, want), resource.Draining)
	if got, ok := Of(e); !ok || got != want || HealthOf(e) != resource.Draining {
		t.Errorf("%+v, %v", got, HealthOf(e))
	}
	var plain resolver.Address
	place := Place{ID: resource.LocalityID{Region: "r"}, Hostname: "h", Proxy: "p:1"}
	if PlaceOf(plain) != (Place{}) || PlaceOf(WithPlace(plain, place)) != place {
		t.Error("places")
	}
}
