// SPDX-License-Identifier: Apache-2.0

package hostname

import (
	"testing"

	"google.golang.org/grpc/resolver"
)

func TestSet(t *testing.T) {
	none := resolver.Endpoint{Addresses: []resolver.Address{{Addr: "a"}}}
	one := Set(none, "one")
	two := Set(one, "two")
	for want, e := range map[string]resolver.Endpoint{"": none, "one": one, "two": two} {
		if got := FromEndpoint(e); got != want || e.Addresses[0].Addr != "a" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if !one.Attributes.Equal(Set(none, "one").Attributes) || one.Attributes.Equal(two.Attributes) {
		t.Error("equality")
	}
}
