// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/xds/handshake"
)

type clientCreds struct{ creds }

// ClientHandshake implements credentials.TransportCredentials.
func (c *clientCreds) ClientHandshake(ctx context.Context, authority string, rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	cluster, hostname := handshake.OfAddress(credentials.ClientHandshakeInfoFromContext(ctx).Attributes)
	if cluster == nil {
		return c.fallback.ClientHandshake(ctx, authority, rawConn)
	}
	conn, info, secured, err := cluster.Handshake(ctx, hostname, rawConn)
	if !secured {
		return c.fallback.ClientHandshake(ctx, authority, rawConn)
	}
	return conn, info, err
}

// ServerHandshake implements credentials.TransportCredentials. It always fails.
func (*clientCreds) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("ServerHandshake is not supported for client credentials")
}

// Clone implements credentials.TransportCredentials.
func (c *clientCreds) Clone() credentials.TransportCredentials {
	return &clientCreds{creds{c.fallback.Clone()}}
}
