// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// EnableTracing is here because programs set it. RPCs are not recorded for
// golang.org/x/net/trace, whatever it is: stats handlers see more.
var EnableTracing bool

// statsHandlers are told what happens. There may be none.
type statsHandlers []stats.Handler

// tag lets each handler put its own into the context of an RPC, or of an attempt.
func (hs statsHandlers) tag(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	for _, h := range hs {
		ctx = h.TagRPC(ctx, info)
	}
	return ctx
}

func (hs statsHandlers) emit(ctx context.Context, event stats.RPCStats) {
	for _, h := range hs {
		h.HandleRPC(ctx, event)
	}
}

// messageSizes are the sizes of a message in bytes.
type messageSizes struct {
	length int // decompressed
	wire   int // as it travels, without framing
}

func inPayload(msg any, n messageSizes) stats.InPayload {
	return stats.InPayload{
		Payload:          msg,
		Length:           n.length,
		CompressedLength: n.wire,
		WireLength:       n.wire + grpcwire.PrefixLen,
		RecvTime:         time.Now(),
	}
}

func outPayload(msg any, n messageSizes) stats.OutPayload {
	return stats.OutPayload{
		Payload:          msg,
		Length:           n.length,
		CompressedLength: n.wire,
		WireLength:       n.wire + grpcwire.PrefixLen,
		SentTime:         time.Now(),
	}
}

// serveObserved is run, with channelz and the stats handlers told of it.
func (s *Server) serveObserved(ctx context.Context, st serverCall, m *method) {
	s.channelz.CallStarted()
	if len(s.opts.stats) == 0 {
		s.channelz.CallEnded(s.run(ctx, st, m))
		return
	}
	o := &observedCall{serverCall: st, handlers: s.opts.stats}
	ctx = o.handlers.tag(ctx, &stats.RPCTagInfo{FullMethodName: st.Method()})
	o.ctx = observedContext{ctx, o}
	began := o.begin(m)
	err := s.run(&o.ctx, o, m)
	if err != nil {
		err = statusError(err)
	}
	o.handlers.emit(&o.ctx, &stats.End{BeginTime: began, EndTime: time.Now(), Error: err})
	s.channelz.CallEnded(err)
}

// observedCall is a call whose events the stats handlers are told, as they happen:
// InHeader, Begin, the messages, OutHeader before the first that goes out,
// OutTrailer, End. The others are told by whoever knows the message.
type observedCall struct {
	serverCall
	handlers   statsHandlers
	ctx        observedContext
	headerTold atomic.Bool
}

func (o *observedCall) begin(m *method) time.Time {
	p := o.Peer()
	o.handlers.emit(&o.ctx, &stats.InHeader{
		WireLength:  o.HeaderWireLength(),
		Compression: o.RecvCompress(),
		Header:      o.IncomingHeader(),
		FullMethod:  o.Method(),
		RemoteAddr:  p.Addr,
		LocalAddr:   p.LocalAddr,
	})
	e := &stats.Begin{BeginTime: time.Now()}
	if m != nil {
		e.IsClientStream, e.IsServerStream = m.streams()
	}
	o.handlers.emit(&o.ctx, e)
	return e.BeginTime
}

func (o *observedCall) received(msg any, n messageSizes) {
	e := inPayload(msg, n)
	o.handlers.emit(&o.ctx, &e)
}

func (o *observedCall) sent(msg any, n messageSizes) {
	e := outPayload(msg, n)
	o.handlers.emit(&o.ctx, &e)
}

// sentHeader is called when response headers have been sent, or may have.
func (o *observedCall) sentHeader() {
	if o.HeaderSent() && !o.headerTold.Swap(true) {
		o.handlers.emit(&o.ctx, &stats.OutHeader{Compression: o.SendCompress(), Header: o.Headers().Copy()})
	}
}

func (o *observedCall) sentTrailer() {
	o.handlers.emit(&o.ctx, &stats.OutTrailer{Trailer: o.Trailers().Copy()})
}

// SendHeader implements serverCall.
func (o *observedCall) SendHeader(md metadata.MD) error {
	err := o.serverCall.SendHeader(md)
	o.sentHeader()
	return err
}

// Send implements serverCall.
func (o *observedCall) Send(p transport.Payload) error {
	err := o.serverCall.Send(p)
	o.sentHeader()
	return err
}

// Finish implements serverCall.
func (o *observedCall) Finish(st *status.Status) error {
	err := o.serverCall.Finish(st)
	o.sentHeader()
	if err == nil {
		o.sentTrailer()
	}
	return err
}

// replied is called when a reply was sent in one piece.
func (o *observedCall) replied(msg any, n messageSizes) {
	o.sentHeader()
	o.sent(msg, n)
	o.sentTrailer()
}

// observedContext is the context of an observed call: through it the application
// reaches the call that is observed, not the one below.
type observedContext struct {
	context.Context
	call *observedCall
}

// Value implements context.Context.
func (c *observedContext) Value(key any) any {
	if _, ok := key.(ctxkey.ServerTransportStream); ok {
		return c.call
	}
	return c.Context.Value(key)
}

// AfterFunc spares contexts that derive from this one a goroutine.
func (c *observedContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}
