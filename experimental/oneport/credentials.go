// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/readyreader"
)

// Credentials returns the credentials for the grpc.Server behind a [Port]. They accept connections as
// the port has secured them. Handlers find credentials.TLSInfo in the peer, as with credentials.NewTLS,
// or, in plain text, the AuthInfo of the insecure credentials. Connections that do not come from a Port
// are refused; they may have been wrapped since, as by netutil.LimitListener, by structs that embed them.
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
	found := readyreader.Find(raw, func(c net.Conn) bool { _, is := c.(*conn); return is })
	if found == nil {
		return nil, nil, errForeign
	}
	if auth := found.(*conn).auth; auth != nil {
		return raw, auth, nil
	}
	_, auth, err := insecure.NewCredentials().ServerHandshake(raw)
	return raw, auth, err
}

// Info implements credentials.TransportCredentials.
func (creds) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls", SecurityVersion: "1.2"}
}

// Clone implements credentials.TransportCredentials.
func (creds) Clone() credentials.TransportCredentials { return creds{} }

// OverrideServerName implements credentials.TransportCredentials.
func (creds) OverrideServerName(string) error { return errClient }

// infoOf returns the AuthInfo that credentials.NewTLS would return for a connection.
func infoOf(state tls.ConnectionState) credentials.AuthInfo {
	if c, ok := credentials.NewTLS(nil).(interface {
		InfoOf(tls.ConnectionState) credentials.AuthInfo
	}); ok {
		return c.InfoOf(state)
	}
	return credentials.TLSInfo{State: state}
}

// conn is the connection that the grpc.Server gets.
type conn struct {
	net.Conn
	auth credentials.AuthInfo // nil in plain text
}

// CloseWrite closes the connection for writing, if the connection below can do that.
func (c *conn) CloseWrite() error { return readyreader.CloseWrite(c.Conn) }

// SharesPort tells package transport that the port also serves protocols other than gRPC, by other servers.
func (*conn) SharesPort() {}
