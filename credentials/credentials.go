// SPDX-License-Identifier: Apache-2.0

// Package credentials defines TransportCredentials, which secure connections, and
// PerRPCCredentials, which authenticate single RPCs. It implements TransportCredentials for TLS.
package credentials

import (
	"context"
	"errors"
	"net"
)

// ErrConnDispatched is the error that ServerHandshake returns after it has handed the
// connection to other code: the server then neither uses nor closes the connection, and
// does not log the error.
var ErrConnDispatched = errors.New("credentials: rawConn is dispatched out of gRPC")

// PerRPCCredentials authenticate each RPC by metadata, such as tokens. All methods
// must be safe for concurrent use.
type PerRPCCredentials interface {
	// GetRequestMetadata returns the metadata to add to the RPC's, and refreshes
	// tokens if necessary. It is called for each attempt of an RPC, such as a retry, may block
	// until ctx ends, and learns which RPC it is from RequestInfoFromContext. uri is the service's
	// "https://authority/package.Service". An error fails the attempt. An error that is a
	// status gives its code, or Internal if that is a code for applications only, such as
	// NotFound (gRFC A54). Any other error gives Unauthenticated if these are credentials of
	// a channel, and Internal if they are those of one RPC.
	GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error)
	// RequireTransportSecurity reports whether the metadata must not travel
	// unencrypted. If it is true, making a channel without transport security fails. A
	// connection without privacy and integrity is then given up if these are credentials of
	// a channel (TRANSIENT_FAILURE, codes.Unavailable); if they are those of one RPC, it
	// fails with codes.Unauthenticated. If the handshake returned no AuthInfo, a channel's
	// credentials are called all the same and have to look themselves; an AuthInfo without a
	// SecurityLevel counts as secure.
	RequireTransportSecurity() bool
}

// TransportCredentials secure connections. All methods must be safe for concurrent
// use.
type TransportCredentials interface {
	// ClientHandshake does the client's handshake with a server on rawConn. It must
	// return when ctx ends; ctx also holds a ClientHandshakeInfo. authority is the
	// :authority of the channel, by which ClientHandshake verifies the server. It
	// returns the connection to use from then on. On an error it has closed rawConn.
	// The channel tries again after any error, with back-off; a method Temporary() bool
	// of the error matters only to grpc.FailOnNonTempDialError.
	ClientHandshake(ctx context.Context, authority string, rawConn net.Conn) (net.Conn, AuthInfo, error)
	// ServerHandshake does the server's handshake with a client on rawConn, on which
	// the server has set deadlines. It returns the connection to use from then on. On an
	// error it has closed rawConn; on ErrConnDispatched it has given rawConn away instead.
	ServerHandshake(rawConn net.Conn) (net.Conn, AuthInfo, error)
	// Info describes the protocol.
	Info() ProtocolInfo
	// Clone returns a copy: later changes of these credentials do not affect it.
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
	// TransportCredentials returns the bundle's transport credentials, which are never nil.
	TransportCredentials() TransportCredentials
	// PerRPCCredentials returns the bundle's per-RPC credentials, or nil if RPCs need none.
	PerRPCCredentials() PerRPCCredentials
	// NewWithMode returns a bundle in the given mode, and leaves this one as it is. It
	// returns an error for a mode that the bundle does not know.
	NewWithMode(mode string) (Bundle, error)
}

// ProtocolInfo describes what secures a connection.
type ProtocolInfo struct {
	// ProtocolVersion is the version of gRPC.
	//
	// Deprecated: nothing sets it.
	ProtocolVersion string
	// SecurityProtocol names the protocol ("tls", "insecure").
	SecurityProtocol string
	// SecurityVersion is the version of the security protocol.
	//
	// Deprecated: read the version from AuthInfo.
	SecurityVersion string
	// ServerName is the name by which the user asked to verify the server. It is empty
	// if the user asked for none.
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
// act as an :authority other than the channel's.
//
// Experimental: this API may change in a later release.
type AuthorityValidator interface {
	// ValidateAuthority returns an error if the peer may not act as authority.
	ValidateAuthority(authority string) error
}
