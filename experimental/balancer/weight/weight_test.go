// SPDX-License-Identifier: Apache-2.0

package weight

import (
	"testing"

	"google.golang.org/grpc/resolver"
)

func TestSet(t *testing.T) {
	none := resolver.Endpoint{Addresses: []resolver.Address{{Addr: "a"}}}
	one := Set(none, EndpointInfo{Weight: 1})
	two := Set(one, EndpointInfo{Weight: 2})
	for want, e := range map[uint32]resolver.Endpoint{0: none, 1: one, 2: two} {
		if got := FromEndpoint(e); got.Weight != want || e.Addresses[0].Addr != "a" {
			t.Errorf("%v, want %d", got, want)
		}
	}
	if !one.Attributes.Equal(Set(none, EndpointInfo{Weight: 1}).Attributes) || one.Attributes.Equal(two.Attributes) {
		t.Error("equality of attributes")
	}
	if (EndpointInfo{Weight: 1}).Equal(nil) || (EndpointInfo{Weight: 1}).Equal(uint32(1)) || !(EndpointInfo{}).Equal(EndpointInfo{}) {
		t.Error("Equal")
	}
}
