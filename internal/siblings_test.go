// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal"
)

// The names have the types that modules beside this one assert.
func TestSiblings(t *testing.T) {
	join := internal.JoinDialOptions.(func(...grpc.DialOption) grpc.DialOption)
	if _, err := grpc.NewClient("passthrough:///x", join()); err == nil {
		t.Error("a channel without credentials: no option was needed")
	}
	canonical := internal.CanonicalString.(func(codes.Code) string)
	for code, want := range map[codes.Code]string{
		codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Internal: "INTERNAL",
		codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.OutOfRange: "OUT_OF_RANGE", 99: "CODE(99)",
	} {
		if got := canonical(code); got != want {
			t.Errorf("%v: %q, want %q", code, got, want)
		}
	}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		var back codes.Code
		if err := back.UnmarshalJSON([]byte(`"` + canonical(code) + `"`)); err != nil || back != code {
			t.Errorf("%v is spelled %q, which is %v, %v", code, canonical(code), back, err)
		}
	}
}
