// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// stream is an RPC that the external processor processes.
type stream struct {
	*process
	started chan struct{} // closed when inner or beginErr is set
	inner   rpcconfig.Stream
	// beginErr is the error with which the RPC has failed to begin; inner is nil then.
	beginErr error
	sends    sending
	recvs    receiving
}

// sending is the state of the direction to the RPC's own server.
type sending struct {
	pumped chan struct{} // closed when pumpRequests has sent everything
	over   atomic.Bool   // the RPC's own server takes no more messages
	closed bool          // the external processor has ended the request; read after pumped

	mu       sync.Mutex
	template proto.Message // a message of the type that the RPC sends; nil if not known yet
}

// receiving is the state of the direction from the RPC's own server. Its owner is the
// goroutine that calls RecvMsg, and pumpResponses while that runs. mu guards the fields below
// it.
type receiving struct {
	pumped  chan struct{} // closed when pumpResponses is done; nil if it was not started
	ended   bool
	end     error // io.EOF means success
	trailer metadata.MD
	shown   kept

	mu      sync.Mutex // held while Header waits
	begun   bool
	header  metadata.MD
	headerE error
	only    metadata.MD // the trailers of a response without headers, as the external processor has changed them
}

func newStream(p *process) *stream {
	return &stream{process: p, started: make(chan struct{}), sends: sending{pumped: make(chan struct{})}}
}

// Context implements rpcconfig.Stream.
func (s *stream) Context() context.Context {
	if <-s.started; s.beginErr != nil {
		return s.ctx
	}
	return s.inner.Context()
}

// SendMsg implements rpcconfig.Stream.
func (s *stream) SendMsg(m any) error {
	if s.failure() != nil || s.sends.over.Load() {
		return io.EOF
	}
	if !s.modeNow().Request.Messages {
		return s.pass(m)
	}
	body, err := s.marshal(m)
	if err != nil {
		s.process.end(err)
		if !s.rpc.ClientStreams && !s.rpc.ServerStreams {
			return io.EOF // RecvMsg waits for the end of the RPC
		}
		return err
	}
	last := !s.rpc.ClientStreams
	if s.config.Observe {
		_ = s.send(s.messageEvent(body))
		if last {
			_ = s.send(s.halfCloseEvent())
		}
		return s.pass(m)
	}
	if s.requests.room(); s.sends.over.Load() {
		return io.EOF
	}
	if err := s.sendThen(s.messageEvent(body), func() { s.line.shown.add(item{body: body}, last) }); err != nil {
		if <-s.sends.pumped; s.sends.closed { // what the external processor has returned comes first
			return nil // the message comes after the end
		}
		return s.pass(m)
	}
	if last {
		_ = s.close()
	}
	return nil
}

// pass sends a message without showing it to the external processor.
func (s *stream) pass(m any) error {
	if <-s.started; s.beginErr != nil {
		return io.EOF
	}
	err := s.inner.SendMsg(m)
	if err != nil && s.failure() != nil {
		return io.EOF
	}
	return err
}

// marshal serializes a message, and remembers its type for returned.
func (s *stream) marshal(m any) ([]byte, error) {
	msg, ok := m.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "extproc: a %T is no message of package proto", m)
	}
	s.sends.mu.Lock()
	s.sends.template = msg
	s.sends.mu.Unlock()
	body, err := proto.Marshal(msg)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "extproc: %v", err)
	}
	return body, nil
}

// close sends the end of the request to the external processor.
func (s *stream) close() error {
	s.line.mu.Lock()
	s.line.closedAt = time.Now()
	s.line.mu.Unlock()
	return s.sendThen(s.halfCloseEvent(), func() { s.line.closed = true })
}

// CloseSend implements rpcconfig.Stream.
func (s *stream) CloseSend() error {
	switch {
	case s.failure() != nil:
		return nil
	case !s.modeNow().Request.Messages:
		return s.passEnd()
	case s.config.Observe:
		if s.rpc.ClientStreams {
			_ = s.send(s.halfCloseEvent())
		}
		return s.passEnd()
	case !s.rpc.ClientStreams: // its only message was the end of the request
		return nil
	}
	if err := s.close(); err == nil {
		return nil
	}
	if <-s.sends.pumped; s.sends.closed {
		return nil
	}
	return s.passEnd()
}

func (s *stream) passEnd() error {
	if <-s.started; s.beginErr != nil {
		return nil // RecvMsg returns the error
	}
	return s.inner.CloseSend()
}

// pumpRequests sends the messages that the external processor has returned.
func (s *stream) pumpRequests() {
	defer close(s.sends.pumped)
	done := false
	defer func() {
		if !done { // the program's codec or a stats handler has called runtime.Goexit
			s.end(errLeft)
		}
	}()
	returned := 0
	for {
		i, ok := s.requests.get()
		if !ok {
			break
		}
		if s.sends.closed { // items after the end are dropped
			continue
		}
		if !i.nothing {
			returned++
			if err := s.sendReturned(i.body); err != nil { // nobody can tell what it should have been
				s.end(status.Errorf(codes.Internal, "extproc: the external processor returned what is no request message: %v", err))
				continue
			}
		}
		if i.last || returned > 0 && !s.rpc.ClientStreams {
			_ = s.inner.CloseSend()
			s.sends.closed = true
			s.recordHalfClose()
		}
	}
	if !s.sends.closed && s.failure() == nil && s.ctx.Err() == nil {
		s.afterServer(returned)
	}
	done = true
}

func (s *stream) recordHalfClose() {
	s.line.mu.Lock()
	at := s.line.closedAt
	s.line.mu.Unlock()
	if !at.IsZero() {
		s.record(clientHalfClose, at)
	}
}

func (s *stream) sendReturned(body []byte) error {
	m, err := s.returned(body)
	if err == nil && s.inner.SendMsg(m) != nil { // RecvMsg returns the error
		s.sends.over.Store(true)
	}
	return err
}

// afterServer continues the RPC with the messages that the external processor got and did not
// return.
func (s *stream) afterServer(returned int) {
	s.line.mu.Lock()
	ended, shown := s.line.closed, s.line.shown
	s.line.mu.Unlock()
	if s.failedOpen() {
		left, ok := shown.left(returned)
		if !ok {
			s.end(errKept)
			return
		}
		for _, i := range left {
			returned++
			_ = s.sendReturned(i.body)
		}
	}
	switch {
	case s.rpc.ClientStreams && ended:
		_ = s.inner.CloseSend()
	case !s.rpc.ClientStreams && returned == 0 && shown.n > 0:
		s.end(errKept)
	}
}

// returned decodes a message that the external processor has returned.
func (s *stream) returned(body []byte) (proto.Message, error) {
	s.sends.mu.Lock()
	template := s.sends.template
	s.sends.mu.Unlock()
	var m proto.Message = &emptypb.Empty{} // it keeps fields that it does not know
	if template != nil {
		m = template.ProtoReflect().New().Interface()
	}
	return m, proto.Unmarshal(body, m)
}
