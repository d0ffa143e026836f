// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// HTTPStatusCode maps the HTTP status of a response that has no grpc-status, as http-grpc-status-mapping.md
// lays down. 200 is Unknown too: a call that went well would have brought a grpc-status. The caller must
// skip informational responses (1xx) before it maps anything.
func HTTPStatusCode(httpStatus int) codes.Code {
	switch httpStatus {
	case http.StatusBadRequest:
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

// MissingStatus returns the status of a response that has no grpc-status. message is the response's
// grpc-message, decoded, empty if it has none; it counts only if everything else is as gRPC requires.
// A content type that is not of gRPC is named in the text, because it usually tells which proxy or web
// server answered. Programs look for the texts, which are those of the published module.
func MissingStatus(httpStatus int, contentType, message string) *status.Status {
	_, isGRPC := ParseContentType(contentType)
	if isGRPC && (httpStatus == 0 || httpStatus == http.StatusOK) {
		return status.New(codes.Unknown, message)
	}
	text := fmt.Sprintf("unexpected HTTP status code received from server: %d (%s)", httpStatus, http.StatusText(httpStatus))
	switch {
	case contentType == "":
		text += "; malformed header: missing HTTP content-type"
	case !isGRPC:
		text += fmt.Sprintf("; transport: received unexpected content-type %q", clip(contentType))
	}
	return status.New(HTTPStatusCode(httpStatus), text)
}
