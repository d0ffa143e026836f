// SPDX-License-Identifier: Apache-2.0

package static

import (
	"testing"

	"google.golang.org/grpc/resolver"
)

func TestStateEndpointsDoNotOverlap(t *testing.T) {
	s := State(resolver.Address{Addr: "a"}, resolver.Address{Addr: "b"})
	_ = append(s.Endpoints[0].Addresses, resolver.Address{Addr: "x"})
	if len(s.Endpoints) != 2 || s.Endpoints[1].Addresses[0].Addr != "b" || s.Addresses[1].Addr != "b" {
		t.Errorf("state %v", s)
	}
}
