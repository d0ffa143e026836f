// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// stream is an RPC that the server processes.
type stream struct {
	*process
	started chan struct{} // closed when there is inner, or beginErr
	inner   rpcconfig.Stream
	// beginErr is why there is no inner: the RPC has ended with it.
	beginErr error
	sends    sending
	recvs    receiving
}

// sending is the way to the RPC's server.
type sending struct {
	pumped chan struct{} // closed when nothing of process.requests is left

	mu       sync.Mutex
	template proto.Message // what messages are like; nil: not known yet
	shown    kept          // to the processor
}

// receiving is the way from it. Whoever receives, or the goroutine that does, owns it but for
// header.
type receiving struct {
	pumped  chan struct{} // closed when process.responses has everything; nil: it is not used
	ended   bool
	end     error // io.EOF for success
	trailer metadata.MD
	shown   kept

	mu      sync.Mutex // held while headers are awaited
	begun   bool
	header  metadata.MD
	headerE error
	only    metadata.MD // trailers without headers, as the server wants them
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
	if s.failure() != nil {
		return io.EOF
	}
	if !s.modeNow().Request.Messages {
		return s.pass(m)
	}
	body, err := s.marshal(m)
	if err != nil {
		s.process.end(err)
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
	if err := s.send(s.messageEvent(body)); err != nil {
		<-s.sends.pumped // what the server returned comes first
		return s.pass(m)
	}
	s.sends.mu.Lock()
	s.sends.shown.add(item{body: body}, last)
	s.sends.mu.Unlock()
	if last {
		_ = s.close()
	}
	return nil
}

// pass sends a message past the server.
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

// marshal also remembers what messages are like.
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

// close shows the server the end of the request.
func (s *stream) close() error {
	s.line.mu.Lock()
	s.line.closedAt = time.Now()
	s.line.mu.Unlock()
	if err := s.send(s.halfCloseEvent()); err != nil {
		return err
	}
	s.line.mu.Lock()
	s.line.closed = true
	s.line.mu.Unlock()
	return nil
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
	case !s.rpc.ClientStreams: // its only message was the end
		return nil
	}
	if err := s.close(); err == nil {
		return nil
	}
	<-s.sends.pumped
	return s.passEnd()
}

func (s *stream) passEnd() error {
	if <-s.started; s.beginErr != nil {
		return nil // whoever receives finds out
	}
	return s.inner.CloseSend()
}

// pumpRequests sends on what the server returned.
func (s *stream) pumpRequests() {
	defer close(s.sends.pumped)
	returned, closed := 0, false
	for {
		i, ok := s.requests.get()
		if !ok {
			break
		}
		if closed { // what comes after the end is dropped
			continue
		}
		if !i.nothing {
			returned++
			if err := s.sendReturned(i.body); err != nil {
				s.fail(err)
				continue
			}
		}
		if i.last || returned > 0 && !s.rpc.ClientStreams {
			_ = s.inner.CloseSend()
			closed = true
			s.recordHalfClose()
		}
	}
	if !closed && s.failure() == nil && s.ctx.Err() == nil {
		s.afterServer(returned)
	}
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
	if err == nil {
		_ = s.inner.SendMsg(m) // whoever receives finds out
	}
	return err
}

// afterServer has the RPC go on with what the server was shown and did not return.
func (s *stream) afterServer(returned int) {
	s.line.mu.Lock()
	ended := s.line.closed
	s.line.mu.Unlock()
	s.sends.mu.Lock()
	shown := s.sends.shown
	s.sends.mu.Unlock()
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

// returned makes a message of what the server returned.
func (s *stream) returned(body []byte) (proto.Message, error) {
	s.sends.mu.Lock()
	template := s.sends.template
	s.sends.mu.Unlock()
	var m proto.Message = &emptypb.Empty{} // what it does not know it passes on
	if template != nil {
		m = template.ProtoReflect().New().Interface()
	}
	return m, proto.Unmarshal(body, m)
}
