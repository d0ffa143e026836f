// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// codecOf is the codec of a call.
func (s *Server) codecOf(st servedCall) encoding.CodecV2 {
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

// writer is what encodes the messages of a call. The compressor is settled only
// when the first of them is about to be sent.
func (s *Server) writer(st servedCall, codec encoding.CodecV2) messageWriter {
	return s.writerWith(st, codec, s.compressorFor(st.SendCompress()))
}

// writerWith is writer where the compressor is known; nil is none.
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

// receiveOne decodes the one request of a call into msg.
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

// noRequest is the error for a call that must have a request and has none.
func noRequest(err error) error {
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
	}
	return err
}

// noMore makes sure that a call which takes one request has no other.
func noMore(st servedCall) error {
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

// end finishes the call with the status of err.
func end(st servedCall, err error) error {
	if sendErr := st.Finish(statusOf(err)); sendErr != nil && logger.V(2) {
		logger.Infof("grpc: the status of %s could not be sent: %v", st.Method(), sendErr)
	}
	return err
}

// ended tells the call's watch and channelz that the call is over, with err.
func (s *Server) ended(st servedCall, m *method, err error) {
	st.watch.end(err)
	if m != nil {
		s.channelz.CallEnded(err)
	}
}

// errExited is how the RPC ended for those who watch it if its handler has not returned: it
// called runtime.Goexit, or panicked. The client is not told.
var errExited = status.Error(codes.Internal, "grpc: the handler exited without a result")
