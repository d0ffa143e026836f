// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"context"
	"net"
)

// wrapped hides that a connection is a socket, as wrappers of programs do.
type wrapped struct{ net.Conn }

type wrappingListener struct{ net.Listener }

func (l wrappingListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wrapped{nc}, nil
}

func dialWrapped(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return wrapped{nc}, nil
}
