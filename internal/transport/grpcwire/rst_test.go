// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"math"
	"testing"

	"google.golang.org/grpc/codes"
)

func TestRST(t *testing.T) {
	tests := []struct {
		code uint32
		want codes.Code
	}{
		{0, codes.Internal},
		{1, codes.Internal},
		{2, codes.Internal},
		{3, codes.ResourceExhausted},
		{4, codes.Internal},
		{5, codes.Internal},
		{6, codes.Internal},
		{7, codes.Unavailable},
		{8, codes.Canceled},
		{9, codes.Internal},
		{10, codes.Internal},
		{11, codes.ResourceExhausted},
		{12, codes.PermissionDenied},
		{13, codes.Internal},
		{14, codes.Unknown},
		{math.MaxUint32, codes.Unknown},
	}
	for _, tt := range tests {
		if got := RSTCode(tt.code); got != tt.want {
			t.Errorf("%d: got %v, want %v", tt.code, got, tt.want)
		}
	}
}
