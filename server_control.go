// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/control"
	"google.golang.org/grpc/internal/transport"
)

// controlOption is an option of package experimental/servercontrol. It is given the server.
type controlOption interface{ Control(control.Server) }

// serverControl is what a server has that is looked at, and drained, from outside.
type serverControl struct {
	tracker *control.Tracker // nil: nobody looks
	owners  []controlOption
}

// addControl takes opt if it is a controlOption.
func (o *serverOptions) addControl(opt ServerOption) {
	if c, ok := opt.(controlOption); ok {
		o.control.owners = append(o.control.owners, c)
		if o.control.tracker == nil {
			o.control.tracker = control.NewTracker()
		}
	}
}

// handControl gives the server, which is ready, to those that control it.
func (s *Server) handControl() {
	for _, o := range s.opts.control.owners {
		o.Control((*controlledServer)(s))
	}
}

// controlledServer is a Server as package experimental/servercontrol has it.
type controlledServer Server

// GracefulStop implements control.Server.
func (c *controlledServer) GracefulStop(ctx context.Context) (conns int, err error) {
	s := (*Server)(c)
	for _, conn := range s.enter(serverDraining) {
		conn.Drain(drainReason)
		conn.EndSilentDrain()
	}
	defer context.AfterFunc(ctx, s.wakeWaiters)()
	if conns, ok := s.awaitConnsUntil(ctx); !ok {
		return conns, context.Cause(ctx)
	}
	s.enter(serverStopped)
	if !s.running.waitUntil(ctx) {
		return 0, context.Cause(ctx)
	}
	s.markStopped()
	return 0, nil
}

// drainNew follows the drain of a connection that began while the server was about to drain.
func (s *Server) drainNew(c *transport.Server) {
	if s.opts.control.tracker != nil {
		c.EndSilentDrain()
	}
}

// wakeWaiters has those look again who wait for connections or handlers to end.
func (s *Server) wakeWaiters() {
	s.mu.Lock()
	s.empty.Broadcast()
	s.mu.Unlock()
	s.running.mu.Lock()
	s.running.none.Broadcast()
	s.running.mu.Unlock()
}

// awaitConnsUntil is awaitConns until ctx ends: then it reports how many are left.
func (s *Server) awaitConnsUntil(ctx context.Context) (left int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.conns.len() > 0 {
		if ctx.Err() != nil {
			return s.conns.len(), false
		}
		s.empty.Wait()
	}
	return 0, true
}

// waitUntil is wait until ctx ends, for which wakeWaiters is called.
func (h *handlerCount) waitUntil(ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.n.Sum() > 0 {
		if ctx.Err() != nil {
			return false
		}
		h.none.Wait()
	}
	return true
}

// Conns implements control.Server.
func (c *controlledServer) Conns() []control.Conn { return c.opts.control.tracker.Conns() }

// RPCs implements control.Server.
func (c *controlledServer) RPCs() []control.RPC { return c.opts.control.tracker.RPCs() }

// Lost implements control.Server.
func (c *controlledServer) Lost() []control.Lost { return c.opts.control.tracker.Lost() }

var _ control.Link = (*transport.Server)(nil)
