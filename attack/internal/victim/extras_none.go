// SPDX-License-Identifier: Apache-2.0

//go:build !extras

package victim

import (
	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

func register(*grpc.Server, orders.Extra) {}
