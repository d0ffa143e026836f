// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/xds/handshake"
)

type serverCreds struct{ creds }

// ServerHandshake implements credentials.TransportCredentials. It uses the fallback
// credentials unless xDS configures security for the connection.
func (c *serverCreds) ServerHandshake(rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, ok := rawConn.(handshake.Conn)
	if !ok {
		return c.fallback.ServerHandshake(rawConn)
	}
	ctx, chain, below := conn.XDSHandshake()
	if chain == nil {
		return c.fallback.ServerHandshake(below)
	}
	return chain.Handshake(ctx, below)
}

// ClientHandshake implements credentials.TransportCredentials. It always fails.
func (*serverCreds) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("ClientHandshake() is not supported for server credentials")
}

// Clone implements credentials.TransportCredentials.
func (c *serverCreds) Clone() credentials.TransportCredentials {
	return &serverCreds{creds{c.fallback.Clone()}}
}
