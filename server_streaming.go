// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/handover"
)

// serveStream serves a call of which at least one side streams.
func (s *Server) serveStream(ctx context.Context, st servedCall, m *method) error {
	ss := &serverStream{
		call:         streamCall{servedCall: st},
		server:       s,
		method:       m,
		codec:        s.codecOf(st),
		decompressor: s.opts.decompressor,
		compressor:   s.compressorFor(st.SendCompress()),
	}
	ss.ctx = handlercontext.Handler{Context: ctx, Values: ss}
	var err error
	if s.opts.stream == nil {
		err = m.stream.Handler(m.impl, ss)
	} else {
		info := &StreamServerInfo{FullMethod: m.full}
		info.IsClientStream, info.IsServerStream = m.streams()
		err = s.opts.stream(m.impl, ss, info, m.stream.Handler)
	}
	if st.Owner() != nil {
		return ss.leave(err)
	}
	if earlier := ss.call.failure(); earlier != nil {
		return earlier
	}
	if err != nil {
		return end(st, err)
	}
	return st.Finish(nil)
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
