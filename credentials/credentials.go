// SPDX-License-Identifier: Apache-2.0

// Package credentials holds what secures connections (TransportCredentials) and what
// authenticates single RPCs (PerRPCCredentials), and implements the former for TLS.
package credentials

import (
	"context"
	"errors"
	"net"
)

// ErrConnDispatched is what ServerHandshake returns after it handed the connection
// to somebody else: the server then neither uses, nor closes, nor logs it.
var ErrConnDispatched = errors.New("credentials: rawConn is dispatched out of gRPC")

// PerRPCCredentials authenticate each RPC by metadata, such as tokens. All methods
// must be safe for concurrent use.
type PerRPCCredentials interface {
	// GetRequestMetadata returns what to add to the RPC's metadata, refreshing
	// tokens if need be. It is called once for each RPC, may block until ctx ends,
	// and finds the RPC through RequestInfoFromContext. uri is the service's
	// "https://authority/package.Service". An error fails the RPC: with its own
	// status if that has a code an application may use, else Unauthenticated.
	GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error)
	// RequireTransportSecurity reports whether the metadata must not travel
	// unencrypted. Channels without transport security then refuse to be made.
	RequireTransportSecurity() bool
}

// TransportCredentials secure connections. All methods must be safe for concurrent
// use.
type TransportCredentials interface {
	// ClientHandshake authenticates rawConn to a server. It must keep to ctx's
	// deadline and end; the context also holds a ClientHandshakeInfo. authority is
	// the :authority of the channel, to verify the server by. It returns the
	// connection to use from now on, or an error after it closed rawConn. An error
	// with a method Temporary() bool returning true is tried again.
	ClientHandshake(ctx context.Context, authority string, rawConn net.Conn) (net.Conn, AuthInfo, error)
	// ServerHandshake authenticates rawConn to a client; deadlines are set on
	// rawConn. It returns the connection to use from now on, or an error after it
	// closed rawConn (ErrConnDispatched: after it gave it away).
	ServerHandshake(rawConn net.Conn) (net.Conn, AuthInfo, error)
	// Info describes the protocol.
	Info() ProtocolInfo
	// Clone returns credentials that don't change with these.
	Clone() TransportCredentials
	// OverrideServerName sets the name to verify the server by, in place of the
	// authority. It must be called before the credentials are used.
	//
	// Deprecated: use grpc.WithAuthority.
	OverrideServerName(serverName string) error
}

// Bundle is transport and per-RPC credentials for use together, in one of several
// modes.
//
// Experimental: this API may change in a later release.
type Bundle interface {
	// TransportCredentials returns the bundle's, never nil.
	TransportCredentials() TransportCredentials
	// PerRPCCredentials returns the bundle's, nil if RPCs need none.
	PerRPCCredentials() PerRPCCredentials
	// NewWithMode returns a bundle of another mode, leaving this one as it is. It
	// fails for modes it doesn't know.
	NewWithMode(mode string) (Bundle, error)
}

// ProtocolInfo describes what secures a connection.
type ProtocolInfo struct {
	// ProtocolVersion is that of gRPC.
	//
	// Deprecated: nothing sets it.
	ProtocolVersion string
	// SecurityProtocol names the protocol ("tls", "insecure").
	SecurityProtocol string
	// SecurityVersion is that of the protocol.
	//
	// Deprecated: read the version from AuthInfo.
	SecurityVersion string
	// ServerName is what the user asked to verify the server by, empty if nothing
	// in particular.
	//
	// Deprecated: use grpc.WithAuthority.
	ServerName string
}

// AuthInfo is what a handshake learned. Types should embed CommonAuthInfo.
type AuthInfo interface {
	// AuthType names the kind of authentication.
	AuthType() string
}

// AuthorityValidator is implemented by AuthInfos that can tell whether the peer may
// stand for an :authority other than the channel's.
//
// Experimental: this API may change in a later release.
type AuthorityValidator interface {
	// ValidateAuthority returns an error if the peer may not act as authority.
	ValidateAuthority(authority string) error
}
