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

// controlOption is an option of package experimental/servercontrol. Control gives it the server.
type controlOption interface{ Control(control.Server) }

// serverControl is what a server needs so that others can inspect and drain it.
type serverControl struct {
	tracker *control.Tracker // nil: nobody inspects the server
	owners  []controlOption
}

var (
	_ control.Tracked = (*transport.ServerStream)(nil)
	_ control.Tracked = (*transport.HandlerStream)(nil)
)

// begin follows the beginning of an RPC, if somebody inspects the server.
func (c *serverControl) begin(st serverCall) {
	if c.tracker != nil {
		c.tracker.Begin(st.(control.Tracked))
	}
}

// end follows its end.
func (c *serverControl) end(st serverCall) {
	if c.tracker != nil {
		c.tracker.End(st.(control.Tracked))
	}
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

// handControl gives the server, once it is set up, to each controlOption.
func (s *Server) handControl() {
	for _, o := range s.opts.control.owners {
		o.Control((*controlledServer)(s))
	}
}

// controlledServer implements control.Server for a Server.
type controlledServer Server

// GracefulStop implements control.Server.
func (c *controlledServer) GracefulStop(ctx context.Context) (conns int, err error) {
	s := (*Server)(c)
	s.mu.Lock()
	s.leavesSilent = true
	s.mu.Unlock()
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

// wakeWaiters wakes the goroutines that wait for connections or handlers to end, so that they check ctx.
func (s *Server) wakeWaiters() {
	s.mu.Lock()
	s.empty.Broadcast()
	s.mu.Unlock()
	s.running.mu.Lock()
	s.running.none.Broadcast()
	s.running.mu.Unlock()
}

// awaitConnsUntil waits as awaitConns does, but no longer than until ctx ends. left is how many connections
// there are then.
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

// waitUntil waits as wait does, but no longer than until ctx ends. wakeWaiters must be called at that time.
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

// serverLimits limits how many connections and RPCs a server accepts. The zero value has no limits.
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

// finish finds the metrics recorders that are told when the limiter refuses something.
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

// hold gives the place of h under the limits to c, as the handshake is done.
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

// full reports whether an RPC that began now would be refused.
func (l *serverLimits) full(method string) bool {
	return l.limiter != nil && l.limiter.Full(method, transport.BytesHeld, l.recorders)
}

// enter reports whether an RPC may begin. If it may, leave must be called when the RPC ends.
func (l *serverLimits) enter(st serverCall) bool {
	if l.limiter == nil {
		return true
	}
	may, counted := l.limiter.Enter(st.Method(), transport.BytesHeld, l.recorders)
	if counted {
		st.(limitedCall).Enters()
	}
	return may
}

// limitedCall is a call that has a place under the limits from Enters until the first call of Leaves.
type limitedCall interface {
	Enters()
	Leaves() (first bool)
}

var (
	_ limitedCall = (*transport.ServerStream)(nil)
	_ limitedCall = (*transport.HandlerStream)(nil)
)

// leave makes room for another call. It is called as soon as the handler has returned, so that there is room
// when the client learns of the end, and again when the call is over. Only the first call has an effect.
func (l *serverLimits) leave(st serverCall) {
	if l.limiter != nil && st.(limitedCall).Leaves() {
		l.limiter.Leave()
	}
}

// recoveryOption is an option of package experimental that makes a handler that panics fail its RPC. Panicked
// returns the error that the RPC ends with; nil stands for an error with codes.Internal.
type recoveryOption interface {
	Panicked(ctx context.Context, method string, value any, stack []byte) error
}

// panicRecovery has the interceptors that turn panics into errors.
type panicRecovery struct{ option recoveryOption }

func (o *serverOptions) addRecovery(opt ServerOption) {
	if r, ok := opt.(recoveryOption); ok {
		o.recoverPanics = &panicRecovery{r}
	}
}

// recoverFirst puts the interceptors of panicRecovery before all others.
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

// rescue sets err for a handler that panicked with value. If value is nil, the handler called
// runtime.Goexit: its goroutine ends, and rescue does nothing.
func (r *panicRecovery) rescue(ctx context.Context, method string, value any, err *error) {
	if value == nil {
		return
	}
	stack := debug.Stack()
	shown := shownMethod(method)
	logger.Errorf("grpc: the handler of %s panicked: %v\n%s", shown, value, stack)
	if *err = r.option.Panicked(ctx, method, value, stack); *err == nil {
		*err = status.Error(codes.Internal, fmt.Sprintf("the handler of %s panicked", shown))
	}
}
