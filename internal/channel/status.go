// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrClosing is what RPCs fail with whose channel is closed.
var ErrClosing = status.Error(codes.Canceled, "grpc: the client connection is closing")

// AsStatus is err as an RPC may fail with it.
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

// ControlPlaneError makes of a status that a part of the control plane gave (a picker,
// credentials) the error of an RPC: codes that only a server's application may use
// become Internal (gRFC A54).
func ControlPlaneError(from string, err error) error {
	s, _ := status.FromError(err)
	switch s.Code() {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition,
		codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return status.Errorf(codes.Internal, "%s illegal status: %v", from, err)
	}
	return err
}
