// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"net"

	"google.golang.org/grpc/benchmark/internal/link"
)

// pingStep pings the server of a connection.
func pingStep(ctx context.Context, conn net.Conn) step {
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	var buf []byte
	return func() (err error) {
		buf, err = link.Ping(conn, buf)
		return err
	}
}
