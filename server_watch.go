// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
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

// servedCall is a serverCall whose methods tell the watch what they do. They see only the bytes of messages:
// the code that decodes and encodes messages tells the watch of those.
type servedCall struct {
	serverCall
	watch *serverWatch // nil: nobody watches
}

// Recv receives a message.
func (c servedCall) Recv() (transport.Message, error) {
	m, err := c.serverCall.Recv()
	if err != nil {
		c.watch.noMessage(err)
	}
	return m, err
}

// SendHeader implements ServerTransportStream.
func (c servedCall) SendHeader(md metadata.MD) error {
	c.watch.introduce()
	err := c.serverCall.SendHeader(c.watch.relayed(md))
	c.watch.sentHeader()
	return err
}

// Send sends a message.
func (c servedCall) Send(p transport.Payload) error {
	c.watch.sending()
	err := c.serverCall.Send(p)
	c.watch.sentHeader()
	return err
}

// Reply sends the one message of a unary call and ends it.
func (c servedCall) Reply(p transport.Payload) error {
	c.watch.introduce()
	return c.serverCall.Reply(p)
}

// Finish ends the call with st. A nil st stands for OK. The error says why the client is not told st.
func (c servedCall) Finish(st *status.Status) error {
	instead, err := c.finish(st)
	if err != nil {
		return err
	}
	return instead
}

// finish is Finish, and tells apart why the client is not told st: it is told of instead, or err says that the
// call could not be ended by this.
func (c servedCall) finish(st *status.Status) (instead, err error) {
	c.watch.introduceLast()
	decided := c.serverCall.Decide(st) // now, as the log is told before the client
	c.watch.finishing(decided)
	err = c.serverCall.Finish(decided)
	c.watch.finished(err)
	if decided != st {
		instead = decided.Err()
	}
	return instead, err
}

// watchedCall is a call that can tell a serverWatch of the metadata that it has received and sent.
type watchedCall interface {
	Watched()
	IncomingHeader() metadata.MD
	HeaderWireLength() int
	Headers() metadata.MD
	HeaderSent() bool
	Trailers() metadata.MD
	ReplaceHeader(metadata.MD) error
	ReplaceTrailer(metadata.MD) error
	IsPlain() bool
	Canceled() bool
}

var (
	_ watchedCall = (*transport.ServerStream)(nil)
	_ watchedCall = (*transport.HandlerStream)(nil)
)

// serverWatch tells those that watch an RPC, and knows what they have been told: plugins of telemetry, the
// server's stats handlers and the binary log. It tells them of InHeader, Begin, the messages, OutHeader
// before the first message that is sent, OutTrailer and End, as these happen.
//
// It is nil if nobody watches. The methods that servedCall calls then do nothing.
type serverWatch struct {
	call       servedCall  // the watched call, which ctx has too
	below      watchedCall // call's serverCall
	handlers   statsHandlers
	seen       telemetry.Served       // nil: no plugin looks at it
	log        *binarylog.Call        // nil: none
	ctx        handlercontext.Handler // its Context is valued
	valued     handlercontext.Valued
	begun      time.Time // when Begin was told; zero if it has not been
	headerTold atomic.Bool
	logHeader  sync.Once   // tells the log the headers
	logTrailer sync.Once   // tells the log the end
	streams    bool        // the client may send more than one message
	halfClosed bool        // the log was told so; owned by the receiver
	cancelTold atomic.Bool // the log was told, or need no longer be
	introduced sync.Once   // sets the plugins' metadata
}

// watch returns what watches an RPC, if there is anybody to tell. The caller must go on with the call and the
// context that it returns, and call begin. m is nil for an unknown method; then neither Begin nor End is told,
// and nothing is logged.
func (s *Server) watch(ctx context.Context, st serverCall, m *method) (servedCall, context.Context) {
	var log *binarylog.Call
	if m != nil {
		log = binarylog.NewCall(ctx, binarylog.Server, st.Method(), s.opts.binaryLogger)
	}
	if len(s.opts.stats) == 0 && len(s.opts.telemetry) == 0 && log == nil {
		return servedCall{st, nil}, ctx
	}
	w := &serverWatch{below: st.(watchedCall), handlers: s.opts.stats, log: log}
	if len(s.opts.stats) > 0 || len(s.opts.telemetry) > 0 { // the log is told before the end is sent
		w.below.Watched()
	}
	if m != nil {
		w.streams, _ = m.streams()
	}
	w.call = servedCall{st, w}
	if len(s.opts.telemetry) > 0 {
		ctx, w.seen = s.opts.telemetry.BeginServed(ctx, telemetry.ServedInfo{Method: st.Method(), Registered: s.methodOf(st) != nil})
	}
	if len(w.handlers) > 0 {
		ctx = w.handlers.tag(ctx, &stats.RPCTagInfo{FullMethodName: st.Method()})
	}
	w.valued = handlercontext.Valued{Context: ctx, Values: w}
	w.ctx.Context = &w.valued
	log.In(&w.ctx)
	return w.call, &w.ctx
}

// ContextValue implements context.Valuer. With it, what a handler does through its context goes to the
// watched call.
func (w *serverWatch) ContextValue(key any) (value any, ok bool) {
	if _, ok := key.(ctxkey.ServerTransportStream); ok {
		return &w.call, true
	}
	return nil, false
}

// observed reports whether there are stats handlers or a binary log.
func (w *serverWatch) observed() bool { return len(w.handlers) > 0 || w.log != nil }

// begin tells of the beginning. If a handler leaves it, end must follow all the same.
func (w *serverWatch) begin(m *method) {
	if w == nil || !w.observed() {
		return
	}
	st := w.call.serverCall
	p := st.Peer()
	in := &stats.InHeader{
		WireLength:  w.below.HeaderWireLength(),
		Compression: st.RecvCompress(),
		Header:      w.below.IncomingHeader(),
		FullMethod:  st.Method(),
		RemoteAddr:  p.Addr,
		LocalAddr:   p.LocalAddr,
	}
	w.handlers.emit(&w.ctx, in)
	if w.log != nil {
		h := binarylog.ClientHeader{
			Method: in.FullMethod, Metadata: in.Header, Peer: p.Addr, Authority: transport.AuthorityIn(in.Header),
		}
		if d, ok := w.ctx.Deadline(); ok {
			h.Timeout = time.Until(d)
		}
		w.log.ClientHeader(h)
	}
	if m == nil {
		return
	}
	w.begun = time.Now()
	e := &stats.Begin{BeginTime: w.begun}
	e.IsClientStream, e.IsServerStream = m.streams()
	w.handlers.emit(&w.ctx, e)
}

// end is called when the RPC is over. Nothing more is told of the RPC.
func (w *serverWatch) end(err error) {
	if w == nil {
		return
	}
	if err != nil {
		err = statusError(err)
	}
	if w.seen != nil {
		w.seen.End(err)
	}
	switch {
	case len(w.handlers) == 0:
	case w.begun.IsZero():
		w.handlers.over(&w.ctx)
	default:
		w.handlers.emit(&w.ctx, &stats.End{BeginTime: w.begun, EndTime: time.Now(), Error: err})
	}
}

// keepsPlain reports whether a binary log wants the RPC's messages.
func (w *serverWatch) keepsPlain() bool { return w != nil && w.log != nil }

// tellsMessages reports whether replying and replied need the message itself.
func (w *serverWatch) tellsMessages() bool { return w != nil && len(w.handlers) > 0 }

// noMessage is called when a receive returned err instead of a message.
func (w *serverWatch) noMessage(err error) {
	switch {
	case w == nil:
	case err == io.EOF:
		if !w.halfClosed && w.streams { // a client that does not stream has no half-close in the log
			w.halfClosed = true
			w.log.HalfClose()
		}
	case status.Code(err) == codes.Canceled && w.below.Canceled():
		w.canceled()
	}
}

func (w *serverWatch) canceled() {
	if !w.cancelTold.Swap(true) {
		w.log.Cancel()
	}
}

// received is called with each message that was received and decoded.
func (w *serverWatch) received(msg any, n messageSizes) {
	if w == nil {
		return
	}
	if w.log != nil {
		w.log.Message(binarylog.Client, n.plain)
	}
	if w.seen != nil {
		w.seen.Received(n.message())
	}
	if len(w.handlers) > 0 {
		e := inPayload(msg, n)
		w.handlers.emit(&w.ctx, &e)
	}
}

// sent is called with each message that was sent.
func (w *serverWatch) sent(msg any, n messageSizes) {
	if w != nil {
		w.tellSent(&w.ctx, msg, n)
	}
}

func (w *serverWatch) tellSent(ctx context.Context, msg any, n messageSizes) {
	if w.log != nil {
		w.log.Message(binarylog.Server, n.plain)
	}
	if w.seen != nil {
		w.seen.Sent(n.message())
	}
	if len(w.handlers) > 0 {
		e := outPayload(msg, n)
		w.handlers.emit(ctx, &e)
	}
}

// replying is called before a reply is sent in one piece. It tells stats handlers of the reply, so that they
// know of it by the time the client has it, and returns true. If something may keep the reply from being
// sent, it tells nothing and returns false. An error says that the call has to end with it, without the reply.
func (w *serverWatch) replying(msg any, n messageSizes) (told bool, err error) {
	if w == nil {
		return false, nil
	}
	w.introduce()
	if st := w.call.Decide(nil); st != nil {
		return false, st.Err()
	}
	if !w.sending() {
		return false, nil
	}
	w.tellSent(&w.ctx, msg, n)
	return true, nil
}

// replied is called when a reply was sent in one piece. told is what replying returned.
func (w *serverWatch) replied(msg any, n messageSizes, told bool) {
	if w == nil {
		return
	}
	if !told {
		// The reply has ended the RPC and so its context. The events before OutTrailer get a context
		// that has not ended.
		ctx := (*repliedContext)(w)
		w.tellHeader(ctx)
		w.tellSent(ctx, msg, n)
	}
	w.sentTrailer()
}

// repliedContext is the context of the RPC as it was when the reply was sent.
type repliedContext serverWatch

// Deadline implements context.Context.
func (c *repliedContext) Deadline() (time.Time, bool) { return c.ctx.Deadline() }

// Done implements context.Context: it has not ended.
func (c *repliedContext) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (c *repliedContext) Err() error { return nil }

// Value implements context.Context.
func (c *repliedContext) Value(key any) any { return c.ctx.Value(key) }

// String keeps fmt from reading fields that others write.
func (c *repliedContext) String() string { return "context of a gRPC call" }

// sending is called before a message is sent. If nothing keeps the message from being sent, it tells stats handlers
// of the response headers, so that they know of them by the time the client has the message, and returns true.
func (w *serverWatch) sending() bool {
	w.introduce()
	if w == nil || len(w.handlers) == 0 || w.ctx.Err() != nil || !w.below.IsPlain() {
		return false
	}
	if !w.headerTold.Swap(true) {
		w.emitHeader(&w.ctx)
	}
	return true
}

// sentHeader is called when the response headers have been sent, or may have been.
func (w *serverWatch) sentHeader() {
	if w != nil {
		w.tellHeader(&w.ctx)
	}
}

func (w *serverWatch) tellHeader(ctx context.Context) {
	if w.observed() && w.below.HeaderSent() && !w.headerTold.Swap(true) {
		w.emitHeader(ctx)
	}
}

func (w *serverWatch) emitHeader(ctx context.Context) {
	md := w.below.Headers().Copy()
	w.logHeader.Do(func() { w.log.ServerHeader(md, nil) })
	w.handlers.emit(ctx, &stats.OutHeader{Compression: w.call.SendCompress(), Header: md})
}

func (w *serverWatch) sentTrailer() {
	if len(w.handlers) > 0 {
		w.handlers.emit(&w.ctx, &stats.OutTrailer{Trailer: w.below.Trailers().Copy()})
	}
}

// logEnd logs the end that the RPC is about to have, before the client can know of it.
func (w *serverWatch) logEnd(st *status.Status) {
	if w.log == nil {
		return
	}
	if md := w.below.Headers(); w.below.HeaderSent() || len(md) > 0 {
		w.logHeader.Do(func() { w.log.ServerHeader(md.Copy(), nil) })
	}
	w.logTrailer.Do(func() { w.log.Trailer(st, w.below.Trailers().Copy(), nil) })
}

// introduce is called before headers may be sent. It adds the plugins' metadata to them, in place of what a proxy
// relays from another server under the same keys.
func (w *serverWatch) introduce() {
	if w != nil && w.seen != nil {
		w.introduceBy(w.below.ReplaceHeader)
	}
}

// relayed returns md, which the handler wants sent after introduce, without the keys of the plugins' metadata.
func (w *serverWatch) relayed(md metadata.MD) metadata.MD {
	if w == nil || w.seen == nil || len(md) == 0 {
		return md
	}
	if kv := w.seen.Metadata(); len(kv) > 0 {
		md = md.Copy()
		for i := 0; i < len(kv); i += 2 {
			md.Delete(kv[i])
		}
	}
	return md
}

func (w *serverWatch) introduceBy(set func(metadata.MD) error) {
	w.introduced.Do(func() {
		if kv := w.seen.Metadata(); len(kv) > 0 {
			_ = set(metadata.Pairs(kv...)) // it fails if it is too late; the client did not ask for the metadata
		}
	})
}

// introduceLast is introduce for an RPC that is about to end. It adds the metadata to the trailers if there are
// no headers.
func (w *serverWatch) introduceLast() {
	switch {
	case w == nil || w.seen == nil:
	case w.below.HeaderSent() || len(w.below.Headers()) > 0:
		w.introduceBy(w.below.ReplaceHeader)
	default:
		w.introduceBy(w.below.ReplaceTrailer)
	}
}

// finishing is called before the RPC's status is sent.
func (w *serverWatch) finishing(st *status.Status) {
	if w == nil {
		return
	}
	if w.below.Canceled() { // not the context that the program has given the RPC, whose end the client is told
		w.canceled()
	} else {
		w.logEnd(st)
	}
	w.logHeader.Do(func() {}) // nothing is logged behind the end
	w.cancelTold.Store(true)  // a receive that is still under way fails because of this end, not the client's
}

// finished is called when the RPC's status has been sent. A non-nil err says that it could not be.
func (w *serverWatch) finished(err error) {
	if w == nil {
		return
	}
	w.sentHeader()
	if err == nil {
		w.sentTrailer()
	}
}
