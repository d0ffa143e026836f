// SPDX-License-Identifier: Apache-2.0

//go:build published

package side

import (
	"net"

	"google.golang.org/grpc"
)

// ground is nothing here.
type ground struct{}

func newGround(*side) *ground { return nil }

func (*ground) dialOption() grpc.DialOption { return grpc.EmptyDialOption{} }

func (*ground) serverOption() grpc.ServerOption { return grpc.EmptyServerOption{} }

func (*ground) conn(c *conn) net.Conn { return c }
