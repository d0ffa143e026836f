// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// serverStream is the ServerStream of a streaming call.
type serverStream struct {
	call   streamCall
	ctx    *handlercontext.Handler
	server *Server
	method *method
	codec  encoding.CodecV2

	// The receiver owns these. A messageReader and a messageWriter are made for each message, as a
	// stream may wait for a long time without one.
	decompressor *packer // of the last message; nil: none yet
	received     bool

	// The sender owns this.
	compressor *packer // of the last message; nil: none
}

// packer is a compressor behind a pointer. A nil pointer takes less memory than a nil interface, and most
// streams have no compressor.
type packer struct{ encoding.Compressor }

// streamingCall is the memory of a call of a streaming method. It is one allocation, of another size
// than a unary call: the garbage of unary calls would leave holes between the streams that stay.
type streamingCall struct {
	transport.ServerStream
	own serverStream // a call with a serverWatch does not use it
}

// watchedServerStream is a serverStream whose context is not the transport's own.
type watchedServerStream struct {
	serverStream
	ctx    handlercontext.Handler // its Context is valued
	valued handlercontext.Valued
}

// streamedCall is a call with a handler that may go on for long: after the call has ended, and with a context
// that serverStream adds values to.
type streamedCall interface {
	BareContext() context.Context
	EndedEarly()
}

var (
	_ streamedCall = (*transport.ServerStream)(nil)
	_ streamedCall = (*transport.HandlerStream)(nil)
)

// streamCall is the call of a streaming handler. If a message can't be sent or received, the call ends
// before the handler returns: the client is told at once, and nothing that the handler returns makes
// the call a success.
type streamCall struct {
	servedCall

	early atomic.Pointer[earlyEnd] // nil: the call has not ended before its handler returned
}

// earlyEnd is the error of a call that ended before its handler returned.
type earlyEnd struct{ error }

// streamed returns the call as the transport has it.
func (c *streamCall) streamed() streamedCall { return c.serverCall.(streamedCall) }

// fail ends the call with the status of err, and returns err.
func (c *streamCall) fail(err error) error {
	if c.early.CompareAndSwap(nil, &earlyEnd{err}) {
		left := true
		defer func() {
			if left { // the program's code, such as a log's sink, has not returned: what the handler returns ends the call
				c.early.Store(nil)
			}
		}()
		_ = end(c.servedCall, err)
		left = false
		c.streamed().EndedEarly()
	}
	return err
}

// failure returns the error that fail was called with first, or nil if fail was not called.
func (c *streamCall) failure() error {
	if e := c.early.Load(); e != nil {
		return e.error
	}
	return nil
}

// SetTrailer implements serverCall. It does nothing once fail has ended the call.
func (c *streamCall) SetTrailer(md metadata.MD) error {
	if c.early.Load() != nil {
		return nil
	}
	err := c.servedCall.SetTrailer(md)
	if err != nil && c.early.Load() != nil { // fail was called meanwhile
		return nil
	}
	return err
}

// Context implements ServerStream.
func (ss *serverStream) Context() context.Context { return ss.ctx }

// SetHeader implements ServerStream. Metadata that can't be sent does not end the RPC.
func (ss *serverStream) SetHeader(md metadata.MD) error {
	if err := transport.CheckReply(md); err != nil {
		return err
	}
	return ss.call.SetHeader(md)
}

// SendHeader implements ServerStream. Metadata that can't be sent does not end the RPC.
func (ss *serverStream) SendHeader(md metadata.MD) error {
	if err := transport.CheckReply(md); err != nil {
		return err
	}
	return ss.call.SendHeader(md)
}

// SetTrailer implements ServerStream.
func (ss *serverStream) SetTrailer(md metadata.MD) {
	if err := ss.call.SetTrailer(md); err != nil {
		logger.Errorf("grpc: SetTrailer of %s: %v", shownMethod(ss.method.full), err)
	}
}

// SendMsg implements ServerStream.
func (ss *serverStream) SendMsg(msg any) error {
	w := ss.server.writerWith(ss.call.servedCall, ss.codec, ss.compress())
	if _, ok := ss.call.serverCall.(*transport.ServerStream); ok && ss.call.Owner() == nil { // not after HandOver
		w.lend = lendAwhile
	}
	out, err := w.write(msg)
	if err != nil {
		return ss.call.fail(err)
	}
	sizes := out.sizes()
	if err := ss.call.Send(out.payload); err != nil {
		return ss.call.fail(err)
	}
	ss.call.watch.sent(msg, sizes)
	return nil
}

// RecvMsg implements ServerStream.
func (ss *serverStream) RecvMsg(msg any) error {
	err := ss.receive(msg)
	if err != nil && err != io.EOF {
		return ss.call.fail(err)
	}
	return err
}

func (ss *serverStream) receive(msg any) error {
	single := !ss.method.stream.ClientStreams
	if single && ss.received {
		return io.EOF // the first RecvMsg checked that there is no other
	}
	m, err := ss.call.Recv()
	if err != nil {
		if single {
			return noRequest(err)
		}
		return err
	}
	return ss.accept(m, msg)
}

// accept decodes m into msg. It is not part of receive, because receive may wait for long and so
// should have a small stack.
func (ss *serverStream) accept(m transport.Message, msg any) error {
	r := ss.server.reader(ss.call.servedCall, ss.codec)
	if d := ss.decompressor; d != nil {
		r.decompressor = d.Compressor
	}
	err := decodeOne(ss.call.servedCall, &r, m, msg)
	ss.decompressor = packerOf(r.decompressor, ss.decompressor)
	if err != nil {
		return err
	}
	ss.received = true
	if !ss.method.stream.ClientStreams {
		return noMore(ss.call.servedCall)
	}
	return nil
}

// compress returns the compressor for messages, or nil for none. Only the sender may call it.
func (ss *serverStream) compress() encoding.Compressor {
	name := ss.call.SendCompress()
	if name == "" {
		return nil
	}
	if ss.compressor == nil || ss.compressor.Name() != name {
		ss.compressor = packerOf(ss.server.compressorFor(name), nil)
	}
	if ss.compressor == nil {
		return nil
	}
	return ss.compressor.Compressor
}

// packerOf returns c as a packer. If have has the same name, packerOf returns have.
func packerOf(c encoding.Compressor, have *packer) *packer {
	switch {
	case c == nil:
		return nil
	case have != nil && have.Name() == c.Name():
		return have
	}
	return &packer{c}
}

// newStreamingCall returns the call, and how many of its bytes are not the transport's.
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
		// Only the transport has seen the context.
		if own, ok := h.Context.(*handlerContext); ok {
			ss = (*serverStream)(own) // st is part of a streamingCall
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

// handlerContext is the context of an unwatched stream's call, with the stream's values added. It does
// what a handlercontext.Valued does, and needs no memory of its own.
type handlerContext serverStream

// Deadline implements context.Context.
func (c *handlerContext) Deadline() (time.Time, bool) {
	return c.call.streamed().BareContext().Deadline()
}

// Done implements context.Context.
func (c *handlerContext) Done() <-chan struct{} { return c.call.streamed().BareContext().Done() }

// Err implements context.Context.
func (c *handlerContext) Err() error { return c.call.streamed().BareContext().Err() }

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	if v, ok := (*serverStream)(c).ContextValue(key); ok {
		return v
	}
	return c.call.streamed().BareContext().Value(key)
}

// String keeps fmt from reading fields that others write.
func (c *handlerContext) String() string { return "context of a gRPC call" }

// handled is called when the handler has returned err.
func (ss *serverStream) handled(err error) {
	if ss.call.Owner() != nil {
		ss.leave(err)
		return
	}
	// The watch is told what the handler returned, even if the client is gone, or is told another error.
	told := errExited
	defer func() { ss.server.ended(ss.call.servedCall, ss.method, told) }()
	ss.server.opts.limits.leave(ss.call.serverCall)
	switch {
	case ss.call.failure() != nil:
	case err != nil:
		err = end(ss.call.servedCall, err)
	case ss.ctx.Err() != nil:
		_ = ss.call.Finish(nil)
	default:
		err = ss.call.Finish(nil)
	}
	told = err
}

// ContextValue implements context.Valuer. It also has how the call's messages are encoded, for
// PreparedMsg.
func (ss *serverStream) ContextValue(key any) (value any, ok bool) {
	if ss.method == nil {
		return nil, false // the stream of a watched call is another one
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

// codecOf returns the codec for the messages of a call.
func (s *Server) codecOf(st servedCall) encoding.CodecV2 {
	if s.opts.codec != nil {
		return s.opts.codec
	}
	if c := codecFor(st.ContentSubtype()); c != nil {
		return c
	}
	logger.Warningf("Unsupported codec %q of %s. Defaulting to \"proto\" for now.", transport.Quoted(st.ContentSubtype()), transport.Quoted(st.Method()))
	return codecFor("")
}

// reader returns a messageReader for the messages of a call.
func (s *Server) reader(st servedCall, codec encoding.CodecV2) messageReader {
	return messageReader{
		codec:        codec,
		encoding:     st.RecvCompress(),
		decompressor: s.opts.decompressor,
		max:          s.opts.maxReceive,
		pool:         s.opts.transport.BufferPool,
		server:       true,
		keep:         st.watch.keepsPlain(),
	}
}

// writer returns a messageWriter for the messages of a call. Call it only when the first message is
// about to be sent: the compressor may change until then.
func (s *Server) writer(st servedCall, codec encoding.CodecV2) messageWriter {
	return s.writerWith(st, codec, s.compressorFor(st.SendCompress()))
}

// writerWith is like writer for a known compressor; nil stands for none.
func (s *Server) writerWith(st servedCall, codec encoding.CodecV2, c encoding.Compressor) messageWriter {
	return messageWriter{
		codec:      codec,
		compressor: c,
		max:        s.opts.maxSend,
		pool:       s.opts.transport.BufferPool,
		keep:       st.watch.keepsPlain(),
	}
}

func (s *Server) compressorFor(name string) encoding.Compressor {
	switch {
	case name == "" || name == encoding.Identity:
		return nil
	case s.opts.compressor != nil && s.opts.compressor.Name() == name:
		return s.opts.compressor
	}
	return encoding.GetCompressor(name)
}

// receiveOne decodes the only request of a call into msg.
func (s *Server) receiveOne(st servedCall, codec encoding.CodecV2, msg any) error {
	m, err := st.Recv()
	if err != nil {
		return noRequest(err)
	}
	r := s.reader(st, codec)
	if err := decodeOne(st, &r, m, msg); err != nil {
		return err
	}
	return noMore(st)
}

// decodeOne decodes m into msg, and tells the call's watch.
func decodeOne(st servedCall, r *messageReader, m transport.Message, msg any) error {
	sizes := messageSizes{wire: m.Len}
	var err error
	sizes.length, err = r.read(m, msg)
	sizes.plain = r.plain
	if err != nil {
		return err
	}
	st.watch.received(msg, sizes)
	return nil
}

// noRequest returns the error of a call that needs one request, when err came instead of it.
func noRequest(err error) error {
	if err == io.EOF {
		return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
	}
	return err
}

// noMore returns an error if a call that takes one request has another.
func noMore(st servedCall) error {
	m, err := st.Recv()
	switch {
	case err == nil:
		m.Data.Free()
		return status.Error(codes.Internal, "cardinality violation: received multiple request messages for non-client-streaming RPC")
	case err == io.EOF:
		return nil
	}
	return err
}

// end finishes the call with the status of err.
func end(st servedCall, err error) error {
	if sendErr := st.Finish(statusOf(err)); sendErr != nil && logger.V(2) {
		logger.Infof("grpc: the status of %s could not be sent: %v", shownMethod(st.Method()), sendErr)
	}
	return err
}

// ended tells the call's watch and channelz that the call is over, with err.
func (s *Server) ended(st servedCall, m *method, err error) {
	if m != nil {
		s.channelz.CallEnded(err)
	}
	st.watch.end(err)
}

// errExited is the result that watchers of an RPC are told if its handler has not returned, but called
// runtime.Goexit or panicked.
var errExited = status.Error(codes.Internal, "grpc: the handler exited without a result")

// answerExited is deferred code's end of a call whose handler, or tap, has called runtime.Goexit, which nobody would
// answer. After a panic nothing is said: the process ends, and its clients see that, or net/http resets the stream.
func answerExited(st serverCall) {
	if leavesByGoexit() {
		_ = st.Finish(status.Convert(errExited))
	}
}

// leavesByGoexit reports whether runtime.Goexit, and no panic, runs the deferred function that calls it.
func leavesByGoexit() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		frame, more := frames.Next()
		switch frame.Function {
		case "runtime.Goexit":
			return true
		case "runtime.gopanic":
			return false
		}
		if !more {
			return false
		}
	}
}
