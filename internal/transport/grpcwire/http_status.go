// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// HTTPStatusCode maps the HTTP status of a response that has no grpc-status, as
// http-grpc-status-mapping.md lays down. It is for clients only. 200 is Unknown too:
// a call that went well would have brought a grpc-status. Informational responses (1xx)
// are to be skipped before anything is mapped.
func HTTPStatusCode(httpStatus int) codes.Code {
	switch httpStatus {
	case http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge:
		return codes.Internal
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	}
	return codes.Unknown
}

// MissingStatus is the status of a response that brought no grpc-status. contentType is
// the response's content type where that is known; one that is not of gRPC is named in
// the message, because it usually tells which proxy or web server answered.
func MissingStatus(httpStatus int, contentType string) *status.Status {
	var b strings.Builder
	b.WriteString("the response has no " + HeaderGRPCStatus)
	if httpStatus != 0 {
		fmt.Fprintf(&b, "; HTTP status %d", httpStatus)
		if text := http.StatusText(httpStatus); text != "" {
			b.WriteString(" (" + text + ")")
		}
	}
	if _, ok := ParseContentType(contentType); !ok && contentType != "" {
		fmt.Fprintf(&b, "; content-type %q is not gRPC", clip(contentType))
	}
	return status.New(HTTPStatusCode(httpStatus), b.String())
}
