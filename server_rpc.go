// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime/pprof"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/compressornames"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// serveCall serves one call to its end.
func (s *Server) serveCall(st serverCall) {
	if !s.running.enter(st.Peer()) {
		_ = st.Finish(stoppingStatus) // its connection is gone
		return
	}
	if !s.opts.limits.enter(st.Method()) {
		_ = st.Finish(tooManyRPCs)
		s.running.leave(st.Peer())
		return
	}
	s.opts.control.tracker.Begin(st)
	defer s.left(st)
	ss := s.begin(st)
	if ss == nil {
		return
	}
	// The handler of a stream may wait for long. Below it on the stack there is no more than
	// this function, so that 4 KB are enough for it, interceptors and generated code.
	var (
		m        = ss.method
		err      error
		returned bool
	)
	defer func() {
		if !returned {
			ss.exited()
		}
	}()
	if intercept := s.opts.stream; intercept == nil {
		err = m.stream.Handler(m.impl, ss)
	} else {
		err = intercept(m.impl, ss, m.streamInfo(), m.stream.Handler)
	}
	returned = true
	ss.handled(err)
}

// begin does for a call what comes before its handler. It returns the stream of a streaming
// call that has a handler, and serves all others to their end.
func (s *Server) begin(st serverCall) *serverStream {
	ctx, err := s.tap(st)
	if err != nil {
		_ = st.Finish(status.Convert(err)) // there is nobody else to tell
		return nil
	}
	if s.opts.labelGoroutines {
		ctx = labelGoroutine(ctx, st.Method())
	}
	m := s.methodOf(st)
	if m == nil && s.opts.unknownHandler != nil {
		m = &method{full: st.Method(), stream: s.opts.unknownHandler}
	}
	if m != nil { // RPCs of unknown methods are not counted
		s.channelz.CallStarted()
	}
	call, ctx := s.watch(ctx, st, m)
	ctx, err = s.settle(ctx, call, m)
	switch {
	case err != nil:
		err = end(call, err)
	case m.stream != nil:
		return s.newServerStream(ctx, call, m)
	default:
		returned := false
		defer func() {
			if !returned {
				s.ended(call, m, errExited)
			}
		}()
		err = s.serveUnary(ctx, call, m)
		returned = true
	}
	s.ended(call, m, err)
	return nil
}

// left follows the handler of a call.
func (s *Server) left(st serverCall) {
	if s.opts.labelGoroutines {
		pprof.SetGoroutineLabels(st.Context())
	}
	if st.Owner() == nil { // else the call is not over
		s.over(st)
	}
}

// over follows the end of a call that was entered.
func (s *Server) over(st serverCall) {
	s.opts.control.tracker.End(st)
	s.opts.limits.leave(st.Method())
	s.running.leave(st.Peer())
}

// refuse returns the status of a call to an unknown method, if no option observes such calls:
// it then needs no goroutine. nil stands for all others, which serveCall serves.
func (s *Server) refuse(st called) *status.Status {
	if s.opts.limits.full(st.Method()) {
		return tooManyRPCs
	}
	if s.opts.unknownHandler != nil || s.opts.transport.Tap != nil || len(s.opts.stats) > 0 ||
		len(s.opts.telemetry) > 0 || s.methodOf(st) != nil {
		return nil
	}
	return status.Convert(s.unknown(st.Method()))
}

// settle finds out how to serve a call, or why it can't be served.
func (s *Server) settle(ctx context.Context, st servedCall, m *method) (context.Context, error) {
	if m == nil {
		return ctx, s.unknown(st.Method())
	}
	ctx, err := s.route(ctx, m)
	if err == nil {
		err = s.settleCompression(st)
	}
	return ctx, err
}

var stoppingStatus = status.New(codes.Unavailable, "the server is stopping")

func (s *Server) unknown(path string) error {
	service, name, ok := transport.SplitMethod(path)
	switch {
	case !ok:
		return status.Errorf(codes.Unimplemented, "malformed method name: %q", path)
	case s.services[service] == nil:
		return status.Errorf(codes.Unimplemented, "unknown service %s", service)
	}
	return status.Errorf(codes.Unimplemented, "unknown method %s for service %s", name, service)
}

// tap lets the application's tap look at the call. Nothing more of the call runs if the context
// that the tap returns has ended: its client has given up, or the tap wants no handler to run.
func (s *Server) tap(st serverCall) (context.Context, error) {
	ctx := st.Context()
	if s.opts.transport.Tap == nil {
		return ctx, nil
	}
	ctx, err := s.opts.transport.Tap(ctx, &tap.Info{FullMethodName: st.Method(), Header: st.IncomingHeader()})
	if err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.Error(codes.PermissionDenied, err.Error())
		}
		return nil, err
	}
	if cause := ctx.Err(); cause != nil {
		return nil, status.FromContextError(cause).Err()
	}
	return ctx, nil
}

// settleCompression refuses a call whose messages can't be read, and chooses the
// encoding of the replies: that of the request, unless an option says otherwise or the
// client does not accept it.
func (s *Server) settleCompression(st servedCall) error {
	theirs := st.RecvCompress()
	known := theirs == "" || theirs == encoding.Identity ||
		s.opts.decompressor != nil && s.opts.decompressor.Name() == theirs
	if !known && encoding.GetCompressor(theirs) == nil {
		return transport.RefuseEncoding(st, theirs, compressornames.AcceptEncoding())
	}
	switch {
	case s.opts.compressor != nil:
		theirs = s.opts.compressor.Name()
	case encoding.GetCompressor(theirs) == nil:
		return nil
	}
	// A client that does not say what it accepts is taken to read what it may send.
	if list := st.AcceptEncoding(); list != "" && !transport.AcceptsEncoding(list, theirs) {
		return nil
	}
	return st.SetSendCompress(theirs)
}
