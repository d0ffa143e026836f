// SPDX-License-Identifier: Apache-2.0

//go:build !extras

package victim

import (
	"errors"
	"net"

	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

func register(*grpc.Server, orders.Extra) {}

func serveXDS(net.Listener, orders.Serve, []grpc.ServerOption) error { return errors.ErrUnsupported }
