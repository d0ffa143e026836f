// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"net"

	"google.golang.org/grpc/internal/readyreader"
)

// SetProbes has the system probe the TCP connection below conn as cfg says. Where there is none it
// does nothing.
func SetProbes(conn net.Conn, cfg net.KeepAliveConfig) {
	tcp, ok := readyreader.SocketBelow(conn).(*net.TCPConn)
	if !ok {
		tcp, ok = conn.(*net.TCPConn)
	}
	if ok {
		_ = tcp.SetKeepAliveConfig(cfg) // the connection works without
	}
}
