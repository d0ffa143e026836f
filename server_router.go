// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/transport"
)

// routerOf asks the server's Source, if it has one, for the Router of a connection.
func (s *Server) routerOf(accepted net.Conn) (rpcconfig.Router, *connDrain, error) {
	if s.opts.rpcConfig == nil {
		return nil, nil, nil
	}
	d := &connDrain{}
	r, err := s.opts.rpcConfig.Router(rpcconfig.Conn{Accepted: accepted, Drain: d.drain})
	return r, d, err
}

// route asks the Router of the call's connection, if there is one.
func (s *Server) route(ctx context.Context, m *method) (context.Context, error) {
	if s.opts.rpcConfig == nil {
		return ctx, nil
	}
	r := rpcconfig.RouterOf(ctx)
	if r == nil {
		return ctx, nil
	}
	return r.Route(ctx, m.full)
}

// connDrain drains one connection when a Source asks for it, which may be before the
// connection has started. There is none (nil) without a Source.
type connDrain struct {
	mu    sync.Mutex
	asked bool
	conn  *transport.Server // nil before it has started
}

// reconfigured is the debug text of the GOAWAY.
const reconfigured = "configuration_changed"

func (d *connDrain) drain() {
	d.mu.Lock()
	first, c := !d.asked, d.conn
	d.asked = true
	d.mu.Unlock()
	if first && c != nil {
		c.Drain(reconfigured)
	}
}

func (d *connDrain) started(c *transport.Server) {
	if d == nil {
		return
	}
	d.mu.Lock()
	asked := d.asked
	d.conn = c
	d.mu.Unlock()
	if asked {
		c.Drain(reconfigured)
	}
}
