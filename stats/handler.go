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

// Handler watches RPCs and connections. It is called from the goroutines that do
// the work, of several RPCs at a time, so it must be safe for concurrent use and
// should return quickly.
type Handler interface {
	// TagRPC returns the context that the RPC goes on with, and that HandleRPC is
	// given for each of its events. On a client it is called once for every
	// attempt, each time before that attempt's Begin.
	TagRPC(context.Context, *RPCTagInfo) context.Context
	// HandleRPC is told one event. The event must not be kept beyond the call
	// unless it is copied; what its fields point at must not be changed.
	HandleRPC(context.Context, RPCStats)

	// TagConn returns the context for the events of a connection. On a server the
	// contexts of the connection's RPCs derive from it too; on a client they do not.
	TagConn(context.Context, *ConnTagInfo) context.Context
	// HandleConn is told that a connection began or ended.
	HandleConn(context.Context, ConnStats)
}
