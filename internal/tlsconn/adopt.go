// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc/internal/readyreader"
)

// Adopt is for a *tls.Conn that the program made itself, or a wrapper that only embeds one.
// It returns the same connection in a form that can be waited for without a goroutine and
// without the buffers of crypto/tls, and that can be written without waiting. The tls.Conn has to
// run over a socket, and its layout has to be known (see layout.go): if not, and for any other
// connection, conn is returned as it is.
func Adopt(conn net.Conn) net.Conn {
	t, ok := readyreader.Innermost(conn).(*tls.Conn)
	if !ok || t == nil || !readyreader.OverSocket(t.NetConn()) || !releasable() {
		return conn
	}
	w, ok := readyreader.NewWriter(t.NetConn())
	if !ok {
		return conn
	}
	sock, ok := w.(duplex)
	if !ok {
		return conn
	}
	a := &adopted{Conn: conn, tls: t, sock: sock}
	if gatherable() {
		a.state.Store(promising)
	}
	return a
}
