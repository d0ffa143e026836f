// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// serveObserved is run, with channelz, the stats handlers and the binary log told of
// it. RPCs of methods that nobody serves don't count, and have neither Begin nor End.
func (s *Server) serveObserved(ctx context.Context, st serverCall, m *method, log *binarylog.Call) {
	if m != nil {
		s.channelz.CallStarted()
	}
	if len(s.opts.stats) == 0 && len(s.opts.telemetry) == 0 && log == nil {
		err := s.run(ctx, st, m)
		if m != nil {
			s.channelz.CallEnded(err)
		}
		return
	}
	o := &observedCall{serverCall: st, handlers: s.opts.stats, log: log, unary: m != nil && m.unary != nil}
	if len(s.opts.telemetry) > 0 {
		ctx, o.seen = s.opts.telemetry.BeginServed(ctx, telemetry.ServedInfo{Method: st.Method(), Registered: s.lookUp(st.Method()) != nil})
	}
	if len(o.handlers) > 0 {
		ctx = o.handlers.tag(ctx, &stats.RPCTagInfo{FullMethodName: st.Method()})
	}
	o.ctx = handlercontext.Handler{Context: ctx, Values: o}
	began := o.begin(m)
	err := s.run(&o.ctx, o, m)
	if err != nil {
		err = statusError(err)
	}
	if o.seen != nil {
		o.seen.End(err)
	}
	if m == nil {
		return
	}
	if len(o.handlers) > 0 {
		o.handlers.emit(&o.ctx, &stats.End{BeginTime: began, EndTime: time.Now(), Error: err})
	}
	s.channelz.CallEnded(err)
}

// observedCall is a call whose events are told to plugins of telemetry, to the stats
// handlers and to the binary log as they happen: InHeader, Begin, the messages, OutHeader before the
// first that goes out, OutTrailer, End.
type observedCall struct {
	serverCall
	handlers   statsHandlers
	seen       telemetry.Served // nil: no plugin looks at it
	log        *binarylog.Call  // nil: none
	ctx        handlercontext.Handler
	headerTold atomic.Bool
	unary      bool
	halfClosed bool        // told; owned by the one who receives
	cancelTold atomic.Bool // to the log
	introduced sync.Once   // the plugins' metadata is set
}

// watchOf returns who watches a call; nil for nobody. received, sent, replied and keepsPlain
// may be called on nil.
func watchOf(st serverCall) *observedCall {
	o, _ := st.(*observedCall)
	return o
}

// keepsPlain says that a binary log wants the call's messages.
func (o *observedCall) keepsPlain() bool { return o != nil && o.log != nil }

// logged says that stats handlers or the binary log want to know.
func (o *observedCall) logged() bool { return len(o.handlers) > 0 || o.log != nil }

func (o *observedCall) begin(m *method) time.Time {
	if !o.logged() {
		return time.Time{}
	}
	p := o.Peer()
	in := &stats.InHeader{
		WireLength:  o.HeaderWireLength(),
		Compression: o.RecvCompress(),
		Header:      o.IncomingHeader(),
		FullMethod:  o.Method(),
		RemoteAddr:  p.Addr,
		LocalAddr:   p.LocalAddr,
	}
	o.handlers.emit(&o.ctx, in)
	if o.log != nil {
		h := binarylog.ClientHeader{
			Method: in.FullMethod, Metadata: in.Header, Peer: p.Addr, Authority: transport.AuthorityIn(in.Header),
		}
		if d, ok := o.ctx.Deadline(); ok {
			h.Timeout = time.Until(d)
		}
		o.log.ClientHeader(h)
	}
	if m == nil {
		return time.Time{}
	}
	e := &stats.Begin{BeginTime: time.Now()}
	e.IsClientStream, e.IsServerStream = m.streams()
	o.handlers.emit(&o.ctx, e)
	return e.BeginTime
}

// Recv implements serverCall.
func (o *observedCall) Recv() (transport.Message, error) {
	m, err := o.serverCall.Recv()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		if !o.halfClosed && !o.unary { // that a unary RPC has one message goes without saying
			o.halfClosed = true
			o.log.HalfClose()
		}
	case status.Code(err) == codes.Canceled:
		o.canceled()
	}
	return m, err
}

func (o *observedCall) canceled() {
	if !o.cancelTold.Swap(true) {
		o.log.Cancel()
	}
}

// received is called with each message that was received, decoded.
func (o *observedCall) received(msg any, n messageSizes) {
	if o == nil {
		return
	}
	if o.log != nil {
		o.log.Message(binarylog.Client, n.plain)
	}
	if o.seen != nil {
		o.seen.Received(n.message())
	}
	if len(o.handlers) > 0 {
		e := inPayload(msg, n)
		o.handlers.emit(&o.ctx, &e)
	}
}

// sent is called with each message that was sent.
func (o *observedCall) sent(msg any, n messageSizes) {
	if o == nil {
		return
	}
	if o.log != nil {
		o.log.Message(binarylog.Server, n.plain)
	}
	if o.seen != nil {
		o.seen.Sent(n.message())
	}
	if len(o.handlers) > 0 {
		e := outPayload(msg, n)
		o.handlers.emit(&o.ctx, &e)
	}
}

// sentHeader is called when response headers have been sent, or may have.
func (o *observedCall) sentHeader() {
	if !o.logged() || !o.HeaderSent() || o.headerTold.Swap(true) {
		return
	}
	md := o.Headers().Copy()
	o.log.ServerHeader(md, nil)
	o.handlers.emit(&o.ctx, &stats.OutHeader{Compression: o.SendCompress(), Header: md})
}

func (o *observedCall) sentTrailer(st *status.Status) {
	if !o.logged() {
		return
	}
	md := o.Trailers().Copy()
	o.log.Trailer(st, md, nil)
	o.handlers.emit(&o.ctx, &stats.OutTrailer{Trailer: md})
}

// introduce has the metadata of plugins sent: with the headers, which are about to be sent,
// or with the trailers if there are none.
func (o *observedCall) introduce(set func(metadata.MD) error) {
	if o.seen == nil {
		return
	}
	o.introduced.Do(func() {
		if kv := o.seen.Metadata(); len(kv) > 0 {
			_ = set(metadata.Pairs(kv...)) // if it is too late, the other side has not asked for it
		}
	})
}

// SendHeader implements serverCall.
func (o *observedCall) SendHeader(md metadata.MD) error {
	o.introduce(o.SetHeader)
	err := o.serverCall.SendHeader(md)
	o.sentHeader()
	return err
}

// Send implements serverCall.
func (o *observedCall) Send(p transport.Payload) error {
	o.introduce(o.SetHeader)
	err := o.serverCall.Send(p)
	o.sentHeader()
	return err
}

// Reply implements serverCall.
func (o *observedCall) Reply(p transport.Payload) error {
	o.introduce(o.SetHeader)
	return o.serverCall.Reply(p)
}

// Finish implements serverCall.
func (o *observedCall) Finish(st *status.Status) error {
	if o.HeaderSent() || len(o.Headers()) > 0 {
		o.introduce(o.SetHeader)
	} else {
		o.introduce(o.SetTrailer)
	}
	if errors.Is(o.ctx.Err(), context.Canceled) {
		o.canceled()
	}
	o.cancelTold.Store(true) // a receive that is still under way is cut off by the end, not by the client
	err := o.serverCall.Finish(st)
	o.sentHeader()
	if err == nil {
		o.sentTrailer(st)
	}
	return err
}

// replied is called when a reply was sent in one piece.
func (o *observedCall) replied(msg any, n messageSizes) {
	if o == nil {
		return
	}
	o.sentHeader()
	o.sent(msg, n)
	o.sentTrailer(nil)
}

// ContextValue implements context.Valuer: through the context of an observed call the
// application reaches the call that is observed, not the one below.
func (o *observedCall) ContextValue(key any) (value any, ok bool) {
	if _, ok := key.(ctxkey.ServerTransportStream); ok {
		return o, true
	}
	return nil, false
}
