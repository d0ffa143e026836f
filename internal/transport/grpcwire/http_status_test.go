// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

func TestHTTPStatusCode(t *testing.T) {
	mapped := map[int]codes.Code{
		400: codes.Internal,
		401: codes.Unauthenticated,
		403: codes.PermissionDenied,
		404: codes.Unimplemented,
		429: codes.Unavailable,
		431: codes.Internal,
		502: codes.Unavailable,
		503: codes.Unavailable,
		504: codes.Unavailable,
	}
	for httpStatus := -1; httpStatus < 1000; httpStatus++ {
		want, ok := mapped[httpStatus]
		if !ok {
			want = codes.Unknown
		}
		if got := HTTPStatusCode(httpStatus); got != want {
			t.Errorf("%d: got %v, want %v", httpStatus, got, want)
		}
	}
}

func TestMissingStatus(t *testing.T) {
	st := MissingStatus(404, "text/html; charset=utf-8")
	if st.Code() != codes.Unimplemented {
		t.Errorf("code %v", st.Code())
	}
	for _, part := range []string{"404 (Not Found)", `content-type "text/html; charset=utf-8"`} {
		if !strings.Contains(st.Message(), part) {
			t.Errorf("%q lacks %q", st.Message(), part)
		}
	}
	for _, contentType := range []string{"", "application/grpc", "application/grpc+proto"} {
		if st := MissingStatus(200, contentType); strings.Contains(st.Message(), "content-type") {
			t.Errorf("%q: %q", contentType, st.Message())
		}
	}
}
