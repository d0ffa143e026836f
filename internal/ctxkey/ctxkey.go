// SPDX-License-Identifier: Apache-2.0

// Package ctxkey holds what public packages and the transport share through a
// context.Context: the keys, and the shapes of the values behind them. It imports
// nothing of this module, so that every floor may use it. A context of the
// transport's own answers Value for these keys without allocating.
package ctxkey

import "context"

// IncomingMetadata finds the metadata that a server received. The value is a
// metadata.MD (as metadata.NewIncomingContext stores it) or a LazyMD.
type IncomingMetadata struct{}

// OutgoingMetadata finds the metadata that a client call is to send: an *Outgoing.
type OutgoingMetadata struct{}

// Peer finds the *peer.Peer of a server's RPC.
type Peer struct{}

// ServerTransportStream finds the grpc.ServerTransportStream of a server's RPC.
type ServerTransportStream struct{}

// ServerConn finds the connection that brought a server's RPC: a Drainer.
type ServerConn struct{}

// ClientConn finds the connection of a client's stream, in the stream's context: a Drainer.
type ClientConn struct{}

// ClientRoom finds a handover.Client in the context of a client's stream, where it is known which
// server answers.
type ClientRoom struct{}

// Drainer is a connection, as those see it whose RPCs it carries.
type Drainer interface {
	// Draining returns a context that ends when the connection begins to drain; nil: that is not
	// known.
	Draining() context.Context
}

// LazyMD builds received metadata when somebody asks for it.
type LazyMD interface {
	// IncomingMD returns a map with lower-case keys that the caller may keep and
	// change: it is built, or copied, at each call. Safe for concurrent use.
	IncomingMD() map[string][]string
}

// ValuesMD may be implemented by a LazyMD that finds one key without building the
// whole map.
type ValuesMD interface {
	// Values returns the values of a key that is in lower case already, nil if
	// there are none. The slice belongs to the caller.
	Values(key string) []string
}

// RequestInfo finds the credentials.RequestInfo of a client's RPC.
type RequestInfo struct{}

// ClientHandshakeInfo finds the credentials.ClientHandshakeInfo of a handshake. The
// dialing side sets it with context.WithValue.
type ClientHandshakeInfo struct{}
