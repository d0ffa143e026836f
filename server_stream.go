// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc/encoding"
	handlercontext "google.golang.org/grpc/internal/context"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
)

// serverStream is a streaming call as its handler has it.
type serverStream struct {
	call   streamCall
	ctx    *handlercontext.Handler
	server *Server
	method *method
	codec  encoding.CodecV2

	// Owned by the one who receives. messageReader and messageWriter are made for each
	// message: a stream may wait for a long time without one.
	decompressor *packer // of the last message; nil: none yet
	received     bool

	// Owned by the one who sends.
	compressor *packer // of the last message; nil: none
}

// packer is a compressor behind a pointer, which is smaller than an interface: most streams have
// none.
type packer struct{ encoding.Compressor }

// streamingCall is the memory of a call of a streaming method: one allocation, also apart from
// unary calls, whose garbage would leave holes between the streams that stay.
type streamingCall struct {
	transport.ServerStream
	own serverStream // not used by a call that is watched
}

// watchedServerStream is one whose context is not the transport's own.
type watchedServerStream struct {
	serverStream
	ctx    handlercontext.Handler // of valued
	valued handlercontext.Valued
}

// streamCall is the call of a streaming handler. If a message can't be sent or received the
// call ends before the handler does: the client is told at once, and nothing that the handler
// returns makes it a success.
type streamCall struct {
	servedCall

	early atomic.Pointer[earlyEnd] // nil: the call has not ended before its handler returned
}

// earlyEnd is what a call ended with before its handler returned.
type earlyEnd struct{ error }

// fail ends the call with the status of err, and returns err.
func (c *streamCall) fail(err error) error {
	if c.early.CompareAndSwap(nil, &earlyEnd{err}) {
		_ = end(c.servedCall, err)
	}
	return err
}

// failure is what fail was given first; nil: it was not called.
func (c *streamCall) failure() error {
	if e := c.early.Load(); e != nil {
		return e.error
	}
	return nil
}

// SetTrailer implements serverCall. After the end of the call it does nothing.
func (c *streamCall) SetTrailer(md metadata.MD) error {
	if c.early.Load() != nil {
		return nil
	}
	err := c.servedCall.SetTrailer(md)
	if err != nil && c.early.Load() != nil { // meanwhile
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
		logger.Errorf("grpc: SetTrailer of %s: %v", ss.method.full, err)
	}
}

// SendMsg implements ServerStream.
func (ss *serverStream) SendMsg(msg any) error {
	w := ss.server.writerWith(ss.call.servedCall, ss.codec, ss.compress())
	if _, ok := ss.call.serverCall.(*transport.ServerStream); ok {
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
	if err != nil && !errors.Is(err, io.EOF) {
		return ss.call.fail(err)
	}
	return err
}

func (ss *serverStream) receive(msg any) error {
	single := !ss.method.stream.ClientStreams
	if single && ss.received {
		return io.EOF // the first RecvMsg saw to it that there is no other
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

// accept decodes m into msg. It is not part of receive, which may wait for long and whose
// stack is to be small.
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

// compress returns what messages are compressed with; nil is none. It is for the one who sends.
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

// packerOf is c as a packer: have, if that has the same name.
func packerOf(c encoding.Compressor, have *packer) *packer {
	switch {
	case c == nil:
		return nil
	case have != nil && have.Name() == c.Name():
		return have
	}
	return &packer{c}
}
