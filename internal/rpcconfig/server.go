// SPDX-License-Identifier: Apache-2.0

package rpcconfig

import (
	"context"
	"net"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/stats"
)

// Source configures the RPCs of a server's connections. The server gets it from a grpc.ServerOption
// that has a method
//
//	ServerRPCConfig() rpcconfig.Source
//
// RPCs that come through ServeHTTP do not belong to a connection of the server, and have no Router.
type Source interface {
	// Admit reports whether the server goes on with a connection that the listener has returned. The
	// server calls it for each connection before anything is sent or read. Admit may wait for the
	// peer, as it is called on a goroutine of the connection's own. Where it returns false, the server
	// closes the connection.
	Admit(accepted net.Conn) bool
	// Router returns the Router of a connection. The server calls it for each connection after the
	// handshake, before the connection's first RPC. A nil Router configures nothing. An error
	// closes the connection.
	Router(Conn) (Router, error)
}

// Recording is a Source that records metrics. Before the server serves, it passes its stats
// handlers, some of which may be recorders, and its other recorders to SetRecorders.
type Recording interface {
	SetRecorders(handlers []stats.Handler, others []estats.MetricsRecorder)
}

// Conn is a connection that a server has accepted.
type Conn struct {
	// Accepted is the net.Conn that the listener returned, so that a listener can recognize its own
	// connections.
	Accepted net.Conn
	// Drain makes the client begin further RPCs on other connections. Open RPCs go on. Any
	// goroutine may call Drain at any time, even before the server serves the connection, and more
	// than once.
	Drain func()
}

// Router configures the RPCs of one connection.
type Router interface {
	// Route configures an RPC. The server calls it once for each RPC of a registered method. method
	// is "/package.Service/Method"; ctx has the incoming metadata and the peer, and ends with the
	// RPC. Route returns the context for the rest of the RPC, which must derive from ctx. If it
	// returns an error, which should be a status, the RPC ends with that. Route must be safe for
	// concurrent use.
	//
	// The server calls its interceptors, and reads messages, only after Route.
	Route(ctx context.Context, method string) (context.Context, error)
}

// Filter is a server's HTTP filter (gRFC A39), configured for one RPC. The RPC goes on with the
// context that it returns, or ends with its error.
type Filter func(ctx context.Context, method string) (context.Context, error)

// Filters is a list of filters, with a method that is like Router.Route.
type Filters []Filter

// Route applies the filters one after the other. It stops at the first error and returns it.
func (fs Filters) Route(ctx context.Context, method string) (context.Context, error) {
	for _, f := range fs {
		var err error
		if ctx, err = f(ctx, method); err != nil {
			return nil, err
		}
	}
	return ctx, nil
}

// routerKey is the context key of a connection's Router.
type routerKey struct{}

// NewConnContext returns a context for a connection that has the Router r.
func NewConnContext(ctx context.Context, r Router) context.Context {
	return context.WithValue(ctx, routerKey{}, r)
}

// RouterOf returns the Router that NewConnContext put into ctx or into a context that ctx derives
// from, or nil if there is none.
func RouterOf(ctx context.Context) Router {
	r, _ := ctx.Value(routerKey{}).(Router)
	return r
}
