// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/status"
)

var (
	errHeaderSent = status.Error(codes.Internal, "the response headers have been sent already")
	errFinished   = status.Error(codes.Internal, "the call has ended already")
)

func headerListError(e *h2.ErrHeaderListTooLarge) *status.Status {
	return status.Newf(codes.Internal, "header list size to send (%d bytes) is larger than the peer's maximum (%d bytes)", e.Size, e.Max)
}
