// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/handover"
)

func (s *Server) newServerStream(ctx context.Context, st servedCall, m *method) *serverStream {
	ss := &serverStream{
		call:         streamCall{servedCall: st},
		server:       s,
		method:       m,
		codec:        s.codecOf(st),
		decompressor: s.opts.decompressor,
		compressor:   s.compressorFor(st.SendCompress()),
	}
	ss.ctx = handlercontext.Handler{Context: ctx, Values: ss}
	return ss
}

// handled follows the return, with err, of the handler.
func (ss *serverStream) handled(err error) {
	if ss.call.Owner() != nil {
		ss.leave(err)
		return
	}
	if earlier := ss.call.failure(); earlier != nil {
		err = earlier
	} else if err != nil {
		err = end(ss.call.servedCall, err)
	} else {
		err = ss.call.Finish(nil)
	}
	ss.server.ended(ss.call.servedCall, ss.method, err)
}

// ContextValue implements context.Valuer. It knows how the call's messages are encoded, for
// PreparedMsg.
func (ss *serverStream) ContextValue(key any) (value any, ok bool) {
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
