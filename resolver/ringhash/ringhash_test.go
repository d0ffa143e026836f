// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"testing"

	"google.golang.org/grpc/resolver"
)

func TestHashKey(t *testing.T) {
	var plain resolver.Endpoint
	keyed := SetHashKey(plain, "k")
	if HashKey(plain) != "" || HashKey(keyed) != "k" || HashKey(SetHashKey(keyed, "l")) != "l" {
		t.Errorf("keys %q, %q", HashKey(plain), HashKey(keyed))
	}
	if !keyed.Attributes.Equal(SetHashKey(plain, "k").Attributes) {
		t.Error("the same key makes a difference")
	}
}
