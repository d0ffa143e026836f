// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/limits"
	istats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

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

// finish settles who is told of what is refused.
func (l *serverLimits) finish(o *serverOptions) {
	if l.limiter != nil {
		l.recorders = istats.NewRecorders(o.stats, o.telemetry.Recorders()...)
	}
}

// accept reports whether the server takes another connection. The accepting goroutine calls it.
func (l *serverLimits) accept(h *handshake) bool {
	return l.limiter == nil || l.limiter.Accept(h, transport.BytesHeld(), l.recorders)
}

// admit reports whether it takes another one of that address, which only a Read may tell.
func (l *serverLimits) admit(h *handshake) bool {
	return l.limiter == nil || l.limiter.Admit(h, h.raw.RemoteAddr(), l.recorders)
}

// hold follows the handshake.
func (l *serverLimits) hold(h *handshake, c *transport.Server) {
	if l.limiter != nil {
		l.limiter.Move(h, c)
	}
}

// release follows the end of a connection, or of its handshake in vain.
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
