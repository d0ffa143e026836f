// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"time"
	"unsafe"

	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
)

// newStreamingCall returns the call and how many bytes of it are not the transport's.
func newStreamingCall() (_ *transport.ServerStream, own int) {
	c := new(streamingCall)
	c.own.call.serverCall = &c.ServerStream
	c.own.ctx = c.Context().(*handlercontext.Handler)
	c.own.ctx.Context = (*handlerContext)(&c.own)
	return &c.ServerStream, int(unsafe.Sizeof(c.own))
}

func (s *Server) newServerStream(ctx context.Context, st servedCall, m *method) *serverStream {
	var ss *serverStream
	if h, ok := ctx.(*handlercontext.Handler); ok && ctx == st.Context() && s.opts.transport.Tap == nil {
		// Nobody but the transport has seen the context.
		if own, ok := h.Context.(*handlerContext); ok {
			ss = (*serverStream)(own) // of a streamingCall
		} else {
			ss = &serverStream{ctx: h}
			h.Context = (*handlerContext)(ss)
		}
	} else {
		w := &watchedServerStream{}
		ss = &w.serverStream
		w.valued = handlercontext.Valued{Context: ctx, Values: ss}
		w.ctx.Context = &w.valued
		ss.ctx = &w.ctx
	}
	ss.call.servedCall, ss.server, ss.method, ss.codec = st, s, m, s.codecOf(st)
	return ss
}

// handlerContext is the context of the call of a stream that is not watched, with the stream's
// values: a handlercontext.Valued that needs no memory.
type handlerContext serverStream

// Deadline implements context.Context.
func (c *handlerContext) Deadline() (time.Time, bool) { return c.call.BareContext().Deadline() }

// Done implements context.Context.
func (c *handlerContext) Done() <-chan struct{} { return c.call.BareContext().Done() }

// Err implements context.Context.
func (c *handlerContext) Err() error { return c.call.BareContext().Err() }

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	if v, ok := (*serverStream)(c).ContextValue(key); ok {
		return v
	}
	return c.call.BareContext().Value(key)
}

// handled follows the return, with err, of the handler.
func (ss *serverStream) handled(err error) {
	if ss.call.Owner() != nil {
		ss.leave(err)
		return
	}
	// The watch is told what the handler returned, also where the client is not, because it
	// was told something else or is gone.
	switch {
	case ss.call.failure() != nil:
	case err != nil:
		err = end(ss.call.servedCall, err)
	case ss.ctx.Err() != nil:
		_ = ss.call.Finish(nil)
	default:
		err = ss.call.Finish(nil)
	}
	ss.server.ended(ss.call.servedCall, ss.method, err)
}

// ContextValue implements context.Valuer. It knows how the call's messages are encoded, for
// PreparedMsg.
func (ss *serverStream) ContextValue(key any) (value any, ok bool) {
	if ss.method == nil {
		return nil, false // a watched call has another one
	}
	switch key.(type) {
	case ctxkey.ServerTransportStream:
		return &ss.call, true
	case handover.Key:
		return (*handedStream)(ss), true
	case messageWriterKey:
		w := ss.server.writer(ss.call.servedCall, ss.codec)
		return &w, true
	}
	return nil, false
}
