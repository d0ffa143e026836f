// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"runtime/pprof"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/compressornames"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// serverCall is one call as the transport has it, over HTTP/2 of our own
// (*transport.ServerStream) or behind net/http (*transport.HandlerStream).
type serverCall interface {
	ServerTransportStream
	Context() context.Context
	Peer() *peer.Peer
	ContentSubtype() string
	RecvCompress() string
	AcceptEncoding() string
	IncomingHeader() metadata.MD
	HeaderWireLength() int

	Recv() (transport.Message, error)
	Send(transport.Payload) error
	Reply(transport.Payload) error
	Finish(*status.Status) error

	Headers() metadata.MD
	Trailers() metadata.MD
	HeaderSent() bool
	SetSendCompress(name string) error
	SendCompress() string
}

var (
	_ serverCall = (*transport.ServerStream)(nil)
	_ serverCall = (*transport.HandlerStream)(nil)
)

// method is what is registered under one full name: a unary method or a streaming
// one.
type method struct {
	full   string
	impl   any
	unary  *MethodDesc
	stream *StreamDesc
}

// streams says which sides of the method may send more than one message.
func (m *method) streams() (client, server bool) {
	if m.stream == nil {
		return false, false
	}
	return m.stream.ClientStreams, m.stream.ServerStreams
}

// serveCall serves one call to its end.
func (s *Server) serveCall(st serverCall) {
	if !s.running.enter() {
		_ = st.Finish(stoppingStatus) // its connection is gone
		return
	}
	defer s.running.leave()
	ctx, err := s.tap(st)
	if err != nil {
		_ = st.Finish(status.Convert(err)) // there is nobody else to tell
		return
	}
	if s.opts.labelGoroutines {
		defer pprof.SetGoroutineLabels(ctx)
		ctx = labelGoroutine(ctx, st.Method())
	}
	m := s.lookUp(st.Method())
	if m == nil && s.opts.unknownHandler != nil {
		m = &method{full: st.Method(), stream: s.opts.unknownHandler}
	}
	log := binarylog.NewCall(binarylog.Server, st.Method())
	if len(s.opts.stats) > 0 || len(s.opts.telemetry) > 0 || s.channelz != nil || log != nil {
		s.serveObserved(ctx, st, m, log)
		return
	}
	_ = s.run(ctx, st, m)
}

// refuse answers at once a call of a method that nobody serves, where nobody observes it
// either; nil stands for all others, which serveCall serves.
func (s *Server) refuse(path string) *status.Status {
	if s.opts.unknownHandler != nil || s.opts.transport.Tap != nil || len(s.opts.stats) > 0 ||
		len(s.opts.telemetry) > 0 || s.lookUp(path) != nil ||
		binarylog.NewCall(binarylog.Server, path) != nil {
		return nil
	}
	return status.Convert(s.unknown(path))
}

func (s *Server) lookUp(path string) *method {
	if m := s.methods[path]; m != nil || path == "" || path[0] == '/' {
		return m
	}
	return s.methods["/"+path] // the transport lets it pass only where the environment says so
}

// run finds out how to serve the call and does so. It returns the error that the
// call ended with.
func (s *Server) run(ctx context.Context, st serverCall, m *method) error {
	if m == nil {
		return end(st, s.unknown(st.Method()))
	}
	ctx, err := s.route(ctx, m)
	if err != nil {
		return end(st, err)
	}
	if err := s.settleCompression(st); err != nil {
		return end(st, err)
	}
	if m.unary != nil {
		return s.serveUnary(ctx, st, m)
	}
	return s.serveStream(ctx, st, m)
}

var stoppingStatus = status.New(codes.Unavailable, "the server is stopping")

// end finishes the call with the status of err.
func end(st serverCall, err error) error {
	if sendErr := st.Finish(statusOf(err)); sendErr != nil && logger.V(2) {
		logger.Infof("grpc: the status of %s could not be sent: %v", st.Method(), sendErr)
	}
	return err
}

// statusOf is what an error of the application means on the wire.
func statusOf(err error) *status.Status {
	if st, ok := status.FromError(err); ok {
		return st
	}
	return status.FromContextError(err)
}

// statusError is err, which is not nil, as an error that has a status.
func statusError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

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

// tap lets the application's tap look at the call.
func (s *Server) tap(st serverCall) (context.Context, error) {
	ctx := st.Context()
	if s.opts.transport.Tap == nil {
		return ctx, nil
	}
	ctx, err := s.opts.transport.Tap(ctx, &tap.Info{FullMethodName: st.Method(), Header: st.IncomingHeader()})
	if err == nil {
		return ctx, nil
	}
	if _, ok := status.FromError(err); !ok {
		err = status.Error(codes.PermissionDenied, err.Error())
	}
	return nil, err
}

// settleCompression refuses a call whose messages can't be read, and chooses the
// encoding of the replies: that of the request, unless an option says otherwise or the
// client does not accept it.
func (s *Server) settleCompression(st serverCall) error {
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

// codecOf is the codec of a call.
func (s *Server) codecOf(st serverCall) encoding.CodecV2 {
	if s.opts.codec != nil {
		return s.opts.codec
	}
	if c := codecFor(st.ContentSubtype()); c != nil {
		return c
	}
	if logger.V(2) {
		logger.Infof("grpc: no codec for content-subtype %q of %s, trying protocol buffers", st.ContentSubtype(), st.Method())
	}
	return codecFor("")
}

// reader is what decodes the messages of a call.
func (s *Server) reader(st serverCall, codec encoding.CodecV2) messageReader {
	return messageReader{
		codec:        codec,
		encoding:     st.RecvCompress(),
		decompressor: s.opts.decompressor,
		max:          s.opts.maxReceive,
		pool:         s.opts.transport.BufferPool,
		server:       true,
		keep:         watchOf(st).keepsPlain(),
	}
}

// writer is what encodes the messages of a call. The compressor is settled only
// when the first of them is about to be sent.
func (s *Server) writer(st serverCall, codec encoding.CodecV2) messageWriter {
	return s.writerWith(st, codec, s.compressorFor(st.SendCompress()))
}

// writerWith is writer where the compressor is known; nil is none.
func (s *Server) writerWith(st serverCall, codec encoding.CodecV2, c encoding.Compressor) messageWriter {
	return messageWriter{
		codec:      codec,
		compressor: c,
		max:        s.opts.maxSend,
		pool:       s.opts.transport.BufferPool,
		keep:       watchOf(st).keepsPlain(),
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

// serveUnary serves a call of one request and one reply.
func (s *Server) serveUnary(ctx context.Context, st serverCall, m *method) error {
	codec := s.codecOf(st)
	decode := func(msg any) error { return s.receiveOne(st, codec, msg) }
	reply, err := m.unary.Handler(m.impl, ctx, decode, s.opts.unary)
	if err != nil {
		return end(st, err)
	}
	w := s.writer(st, codec)
	out, err := w.write(reply)
	if err != nil {
		return end(st, err)
	}
	sizes := out.sizes()
	if err := st.Reply(out.payload); err != nil {
		return err
	}
	watchOf(st).replied(reply, sizes)
	return nil
}

// receiveOne decodes the one request of a call into msg.
func (s *Server) receiveOne(st serverCall, codec encoding.CodecV2, msg any) error {
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

// decodeOne decodes m into msg, and tells who watches the call.
func decodeOne(st serverCall, r *messageReader, m transport.Message, msg any) error {
	sizes := messageSizes{wire: m.Len}
	var err error
	sizes.length, err = r.read(m, msg)
	sizes.plain = r.plain
	if err != nil {
		return err
	}
	watchOf(st).received(msg, sizes)
	return nil
}

// noRequest is the error for a call that must have a request and has none.
func noRequest(err error) error {
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
	}
	return err
}

// noMore makes sure that a call which takes one request has no other.
func noMore(st serverCall) error {
	m, err := st.Recv()
	switch {
	case err == nil:
		m.Data.Free()
		return status.Error(codes.Internal, "cardinality violation: received multiple request messages for non-client-streaming RPC")
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}
