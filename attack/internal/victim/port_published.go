// SPDX-License-Identifier: Apache-2.0

//go:build published

package victim

import (
	"errors"
	"net"

	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

// hasPort is false, as the published module has no package oneport.
const hasPort = false

func servePort(net.Listener, orders.Serve, []grpc.ServerOption) error { return errors.ErrUnsupported }
