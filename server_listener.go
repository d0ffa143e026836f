// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net"

	"google.golang.org/grpc/internal/channelz"
)

// served is a listener that Serve was called with, and handshake a connection that is
// not one of RPCs yet. Their addresses identify them: what they hold is the program's,
// of a type that need not be comparable.
type (
	served struct {
		lis    net.Listener
		socket *channelz.Socket
	}
	handshake struct{ raw net.Conn }
)

func (l *served) close() {
	l.socket.Close()
	_ = l.lis.Close() // of no use any more, whatever Close says
}
