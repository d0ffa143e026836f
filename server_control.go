// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/control"
	"google.golang.org/grpc/internal/limits"
	istats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
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

// handControl passes the server, once it is set up, to each option that controls it.
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
	for s.openConns() > 0 {
		if ctx.Err() != nil {
			return s.openConns(), false
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

// limitsOption is an option of package experimental/limits.
type limitsOption interface{ Limiter() *limits.Limiter }

// serverLimits is how many connections and RPCs a server takes. The zero value has no limits.
type serverLimits struct {
	limiter   *limits.Limiter
	recorders *istats.Recorders
}

var tooManyRPCs = status.New(codes.ResourceExhausted, "the server has as many RPCs as it may have")

func (o *serverOptions) addLimits(opt ServerOption) {
	if l, ok := opt.(limitsOption); ok {
		o.limits.limiter = l.Limiter()
	}
}

// finish finds the metrics recorders that are told of what is refused.
func (l *serverLimits) finish(o *serverOptions) {
	if l.limiter != nil {
		l.recorders = istats.NewRecorders(o.stats, o.telemetry.Recorders()...)
	}
}

// accept reports whether the server takes another connection. The accepting goroutine calls it.
func (l *serverLimits) accept(h *handshake) bool {
	return l.limiter == nil || l.limiter.Accept(h, transport.BytesHeld(), l.recorders)
}

// admit reports whether the server takes another connection from the address of h. It is separate from accept
// because some listeners know the address only after a Read.
func (l *serverLimits) admit(h *handshake) bool {
	return l.limiter == nil || l.limiter.Admit(h, h.raw.RemoteAddr(), l.recorders)
}

// hold passes the place that h has among the connections on to c: the handshake is done.
func (l *serverLimits) hold(h *handshake, c *transport.Server) {
	if l.limiter != nil {
		l.limiter.Move(h, c)
	}
}

// release gives back the place of a connection that has ended, or whose handshake failed.
func (l *serverLimits) release(holder any) {
	if l.limiter != nil {
		l.limiter.Release(holder)
	}
}

// full reports whether an RPC would be refused.
func (l *serverLimits) full(method string) bool {
	return l.limiter != nil && l.limiter.Full(method, transport.BytesHeld, l.recorders)
}

// enter reports whether an RPC may begin; leave follows its end.
func (l *serverLimits) enter(method string) bool {
	return l.limiter == nil || l.limiter.Enter(method, transport.BytesHeld, l.recorders)
}

func (l *serverLimits) leave(method string) {
	if l.limiter != nil {
		l.limiter.Leave(method)
	}
}

// recoveryOption is an option of package experimental: a handler that panics fails its RPC. Panicked
// returns the error that the RPC ends with; nil stands for one of code Internal.
type recoveryOption interface {
	Panicked(ctx context.Context, method string, value any, stack []byte) error
}

// panicRecovery makes errors of panics.
type panicRecovery struct{ option recoveryOption }

func (o *serverOptions) addRecovery(opt ServerOption) {
	if r, ok := opt.(recoveryOption); ok {
		o.recoverPanics = &panicRecovery{r}
	}
}

// recoverFirst puts the interceptors that recover before all others.
func (o *serverOptions) recoverFirst() {
	if r := o.recoverPanics; r != nil {
		o.chainUnary = append([]UnaryServerInterceptor{r.unary}, o.chainUnary...)
		o.chainStream = append([]StreamServerInterceptor{r.stream}, o.chainStream...)
	}
}

func (r *panicRecovery) unary(ctx context.Context, req any, info *UnaryServerInfo, handler UnaryHandler) (reply any, err error) {
	returned := false
	defer func() {
		if !returned {
			r.rescue(ctx, info.FullMethod, recover(), &err)
		}
	}()
	reply, err = handler(ctx, req)
	returned = true
	return reply, err
}

func (r *panicRecovery) stream(srv any, st ServerStream, info *StreamServerInfo, handler StreamHandler) (err error) {
	returned := false
	defer func() {
		if !returned {
			r.rescue(st.Context(), info.FullMethod, recover(), &err)
		}
	}()
	err = handler(srv, st)
	returned = true
	return err
}

// rescue sets err for a handler that panicked with value; nil stands for one that called
// runtime.Goexit, whose goroutine ends.
func (r *panicRecovery) rescue(ctx context.Context, method string, value any, err *error) {
	if value == nil {
		return
	}
	stack := debug.Stack()
	logger.Errorf("grpc: the handler of %s panicked: %v\n%s", method, value, stack)
	if *err = r.option.Panicked(ctx, method, value, stack); *err == nil {
		*err = status.Error(codes.Internal, fmt.Sprintf("the handler of %s panicked", method))
	}
}
