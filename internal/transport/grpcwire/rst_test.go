// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

func TestRST(t *testing.T) {
	tests := []struct {
		code uint32
		want codes.Code
		name string
	}{
		{0, codes.Internal, "NO_ERROR"},
		{1, codes.Internal, "PROTOCOL_ERROR"},
		{2, codes.Internal, "INTERNAL_ERROR"},
		{3, codes.ResourceExhausted, "FLOW_CONTROL_ERROR"},
		{4, codes.Internal, "SETTINGS_TIMEOUT"},
		{5, codes.Internal, "STREAM_CLOSED"},
		{6, codes.Internal, "FRAME_SIZE_ERROR"},
		{7, codes.Unavailable, "REFUSED_STREAM"},
		{8, codes.Canceled, "CANCEL"},
		{9, codes.Internal, "COMPRESSION_ERROR"},
		{10, codes.Internal, "CONNECT_ERROR"},
		{11, codes.ResourceExhausted, "ENHANCE_YOUR_CALM"},
		{12, codes.PermissionDenied, "INADEQUATE_SECURITY"},
		{13, codes.Internal, "HTTP_1_1_REQUIRED"},
		{14, codes.Unknown, "unknown error code 0xe"},
		{math.MaxUint32, codes.Unknown, "0xffffffff"},
	}
	for _, tt := range tests {
		st := RSTStatus(tt.code)
		if st.Code() != tt.want || !strings.Contains(st.Message(), tt.name) {
			t.Errorf("%d: got %v, want %v and %q", tt.code, st, tt.want, tt.name)
		}
	}
}
