// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Credentials are for the server of gRPC behind a [Port]: they take the connection as the
// port has secured it. Handlers find credentials.TLSInfo in the peer, as with
// credentials.NewTLS, or, in plain text, what the insecure credentials say. Connections that
// come from elsewhere are refused.
func Credentials() credentials.TransportCredentials { return creds{} }

type creds struct{}

var (
	errClient  = errors.New("oneport: these credentials are for servers")
	errForeign = errors.New("oneport: the connection does not come from Port.GRPC")
)

// ClientHandshake implements credentials.TransportCredentials.
func (creds) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errClient
}

// ServerHandshake implements credentials.TransportCredentials.
func (creds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, ok := raw.(*conn)
	if !ok {
		return nil, nil, errForeign
	}
	if c.auth != nil {
		return c, c.auth, nil
	}
	_, auth, err := insecure.NewCredentials().ServerHandshake(c)
	return c, auth, err
}

// Info implements credentials.TransportCredentials.
func (creds) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls", SecurityVersion: "1.2"}
}

// Clone implements credentials.TransportCredentials.
func (creds) Clone() credentials.TransportCredentials { return creds{} }

// OverrideServerName implements credentials.TransportCredentials.
func (creds) OverrideServerName(string) error { return errClient }

// infoOf is what credentials.NewTLS would say of a connection.
func infoOf(state tls.ConnectionState) credentials.AuthInfo {
	if c, ok := credentials.NewTLS(nil).(interface {
		InfoOf(tls.ConnectionState) credentials.AuthInfo
	}); ok {
		return c.InfoOf(state)
	}
	return credentials.TLSInfo{State: state}
}

// conn is what the server of gRPC gets.
type conn struct {
	net.Conn
	auth credentials.AuthInfo // nil in plain text
}

// SharesPort tells package transport that the port also serves protocols other than gRPC, by other servers.
func (*conn) SharesPort() {}
