// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net"

	"google.golang.org/grpc/internal/channelz"
)

// served is a listener that Serve was called with, and handshake a connection whose handshake
// is not over. Their addresses identify them: the listener and the connection are the
// program's, of types that need not be comparable.
type (
	served struct {
		lis    net.Listener
		socket *channelz.Socket
	}
	handshake struct{ raw net.Conn }
)

func (l *served) close() {
	l.socket.Close()
	_ = l.lis.Close() // it is not used any more, whatever Close returns
}
