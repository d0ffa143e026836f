// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrClosing is the error of RPCs whose channel is closed.
var ErrClosing = status.Error(codes.Canceled, "grpc: the client connection is closing")

// AsStatus returns err if it is a status or nil, and otherwise a status for it, which an RPC can
// fail with.
func AsStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Unknown, err.Error())
}

// controlPlaneError returns the error with which an RPC fails because a part of the control plane
// (a picker, credentials) returned the status err. Codes that only a server's application may use
// become Internal (gRFC A54). from says where err came from.
func controlPlaneError(from string, err error) error {
	s, _ := status.FromError(err)
	switch s.Code() {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition,
		codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return status.Errorf(codes.Internal, "%s illegal status: %v", from, err)
	}
	return err
}
