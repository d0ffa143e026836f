// SPDX-License-Identifier: Apache-2.0

package rpcconfig

import (
	"context"
	"net"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/stats"
)

// Source configures the RPCs of a server's connections. It is brought by a
// grpc.ServerOption that has a method
//
//	ServerRPCConfig() rpcconfig.Source
//
// RPCs that come through ServeHTTP have no connection of the server's, and no Router.
type Source interface {
	// Router is called for each connection, with its handshake done, before any RPC
	// comes on it. With a nil Router nothing is configured; an error closes the connection.
	Router(Conn) (Router, error)
}

// Recording is a Source that records metrics. The server tells it, before it serves, of its stats
// handlers, among which there may be recorders, and of its other recorders.
type Recording interface {
	SetRecorders(handlers []stats.Handler, others []estats.MetricsRecorder)
}

// Conn is a connection that a server has taken.
type Conn struct {
	// Accepted is what the listener returned, so that a listener can tell its own
	// connections what they are to be.
	Accepted net.Conn
	// Drain has the client begin its further RPCs elsewhere; those that are open go on.
	// It may be called at any time, by any goroutine, more than once. Those that serve the
	// connection need not hear of it.
	Drain func()
}

// Router configures the RPCs of one connection.
type Router interface {
	// Route is called once for each RPC of a registered method; method is
	// "/package.Service/Method", and ctx holds the metadata that came and the peer. Any
	// number of calls run at once. It returns the context that the RPC goes on with,
	// which derives from ctx; or an error, which should be a status, and the RPC ends
	// with it. The context ends with the RPC.
	//
	// The server's own interceptors come after it, and messages are not read yet.
	Route(ctx context.Context, method string) (context.Context, error)
}

// Filter is a server's HTTP filter (gRFC A39), configured for one RPC: it lets the RPC go
// on with the context that it returns, or ends it with an error.
type Filter func(ctx context.Context, method string) (context.Context, error)

// Filters are applied in turn, as a Route consists of them.
type Filters []Filter

// Route applies the filters. The first error counts.
func (fs Filters) Route(ctx context.Context, method string) (context.Context, error) {
	for _, f := range fs {
		var err error
		if ctx, err = f(ctx, method); err != nil {
			return nil, err
		}
	}
	return ctx, nil
}

// routerKey finds the Router in the context of a connection.
type routerKey struct{}

// NewConnContext returns the context of a connection that has the Router.
func NewConnContext(ctx context.Context, r Router) context.Context {
	return context.WithValue(ctx, routerKey{}, r)
}

// RouterOf returns the Router of the connection that ctx belongs to, or derives from; nil
// if there is none.
func RouterOf(ctx context.Context) Router {
	r, _ := ctx.Value(routerKey{}).(Router)
	return r
}
