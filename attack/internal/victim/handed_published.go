// SPDX-License-Identifier: Apache-2.0

//go:build published

package victim

import (
	"context"
	"errors"

	"google.golang.org/grpc"
)

// hasHandOver is false, as the published module has no package streams.
const hasHandOver = false

var handedOver []grpc.StreamDesc

func onceHanded(context.Context, func(...grpc.CallOption) (grpc.ClientStream, error), *message) error {
	return errors.ErrUnsupported
}
