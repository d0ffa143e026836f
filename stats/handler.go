// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"net"
)

// ConnTagInfo describes the connection that TagConn is called for.
type ConnTagInfo struct {
	// RemoteAddr and LocalAddr are the two ends of the connection.
	RemoteAddr net.Addr
	LocalAddr  net.Addr
}

// RPCTagInfo describes the RPC that TagRPC is called for.
type RPCTagInfo struct {
	// FullMethodName is "/package.service/method".
	FullMethodName string
	// FailFast says that the RPC is not wait-for-ready. Always false on a server.
	FailFast bool
	// NameResolutionDelay says that the RPC had to wait for the resolver's first
	// answer. Always false on a server.
	NameResolutionDelay bool
}

// Handler watches RPCs and connections. The goroutines that do the work of RPCs and
// connections call it, so it must be safe for concurrent use and should return quickly.
type Handler interface {
	// TagRPC returns the context that the RPC goes on with. HandleRPC gets that context
	// for each of the RPC's events. On a client TagRPC is called once for every
	// attempt, each time before that attempt's Begin.
	TagRPC(context.Context, *RPCTagInfo) context.Context
	// HandleRPC is called for one event. It must not keep the event after it returns,
	// but may keep a copy. It must not change what the event's fields point at.
	HandleRPC(context.Context, RPCStats)

	// TagConn returns the context for the events of a connection. On a server the
	// contexts of the connection's RPCs derive from it too; on a client they do not.
	TagConn(context.Context, *ConnTagInfo) context.Context
	// HandleConn is called when a connection begins or ends.
	HandleConn(context.Context, ConnStats)
}
