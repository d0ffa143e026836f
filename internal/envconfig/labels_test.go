// SPDX-License-Identifier: Apache-2.0

package envconfig

import "testing"

func TestHasLabel(t *testing.T) {
	for list, want := range map[string]bool{
		"": false, "true": false, "grpc.method": false, "grpc.method=1": false, "grpc.method=false": false,
		"grpc.method=true": true, "grpc.method=TRUE": true, " grpc.method=true": true, "all": true, "ALL": true, "x=true, all ": true,
		"grpc.method=true,x=true": true, "x=true;grpc.method=true": false,
		"all,grpc.method=false": false, "grpc.method=true,grpc.method=false": false,
	} {
		if got := hasLabel(list, "grpc.method"); got != want {
			t.Errorf("%q: %t", list, got)
		}
	}
}
