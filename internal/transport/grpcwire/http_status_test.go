// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
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
		431: codes.Unknown,
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
	st := MissingStatus(404, "text/html; charset=utf-8", "")
	if st.Code() != codes.Unimplemented {
		t.Errorf("code %v", st.Code())
	}
	for _, tt := range []struct {
		httpStatus        int
		contentType, want string
	}{
		{404, "text/html; charset=utf-8", `unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type "text/html; charset=utf-8"`},
		{520, "", "unexpected HTTP status code received from server: 520 (); malformed header: missing HTTP content-type"},
		{503, "application/grpc", "unexpected HTTP status code received from server: 503 (Service Unavailable)"},
		{200, "application/grpc+proto", "a%20b"},
	} {
		if got := MissingStatus(tt.httpStatus, tt.contentType, "a%20b").Message(); got != tt.want {
			t.Errorf("%d, %q: got %q, want %q", tt.httpStatus, tt.contentType, got, tt.want)
		}
	}
}
