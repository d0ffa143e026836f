// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

var (
	errHeaderSent = status.Error(codes.Internal, "transport: SendHeader called multiple times")
	errFinished   = status.Error(codes.Internal, "the call has ended already")

	errHandedOver = status.Error(codes.FailedPrecondition, "the stream was handed over already")

	errStopped  = status.Error(codes.Unavailable, "the server is stopping")
	errConnGone = status.Error(codes.Unavailable, "transport is closing")

	// Without a status: a handler that returns it ends the call with Unknown.
	errCompressLate = errors.New("transport: set send compressor called after headers sent or stream done")
)

// headerListError is about the limit of the peer, "server" or "client".
func headerListError(e *h2.ErrHeaderListTooLarge, peer string) *status.Status {
	return status.Newf(codes.Internal, "header list size to send violates the maximum size (%d bytes) set by %s", e.Max, peer)
}

// malformed returns the error for a request or response that is malformed by RFC 9113 section 8.1.1.
func malformed(reason string) error {
	return frame.Error{Code: frame.ProtocolError, Reason: reason}
}
