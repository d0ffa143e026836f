// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc/attack/internal/traffic"
)

// churn opens and closes sockets of no concern to anyone, so that a descriptor which a connection
// gave up soon stands for something else.
func churn(ctx context.Context) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	context.AfterFunc(ctx, func() { lis.Close() })
	go func() {
		for {
			nc, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				_, _ = io.CopyN(nc, nc, 1+rand.N(int64(100)))
			}()
		}
	}()
	for ctx.Err() == nil {
		var some []net.Conn
		for range 1 + rand.N(8) {
			if nc, err := net.Dial("tcp", lis.Addr().String()); err == nil {
				_, _ = nc.Write(make([]byte, 100)) // what comes of it is all the same
				some = append(some, nc)
			}
		}
		traffic.Pause(ctx, rand.N(20*time.Millisecond))
		for _, nc := range some {
			if tcp, ok := nc.(*net.TCPConn); ok && rand.N(2) == 0 {
				_ = tcp.SetLinger(0)
			}
			nc.Close()
		}
	}
}
