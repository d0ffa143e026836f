// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"io"
	"sync"
	"time"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
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
	inner rpcconfig.Stream
	sends sending
	recvs receiving
}

// sending is the way to the RPC's server.
type sending struct {
	pumped chan struct{} // closed when nothing of process.requests is left; nil: it is not used

	mu       sync.Mutex
	template proto.Message // what messages are like; nil: not known yet
}

// receiving is the way from it. Whoever receives, or the goroutine that does, owns it but for
// header.
type receiving struct {
	pumped  chan struct{} // closed when process.responses has everything; nil: it is not used
	ended   bool
	end     error // io.EOF for success
	trailer metadata.MD

	mu      sync.Mutex // held while headers are awaited
	begun   bool
	header  metadata.MD
	headerE error
}

func newStream(p *process, inner rpcconfig.Stream) *stream {
	s := &stream{process: p, inner: inner}
	if p.modeNow().RequestMessages && !p.config.Observe {
		s.sends.pumped = make(chan struct{})
		go s.pumpRequests()
	}
	return s
}

// Context implements rpcconfig.Stream.
func (s *stream) Context() context.Context { return s.inner.Context() }

// SendMsg implements rpcconfig.Stream.
func (s *stream) SendMsg(m any) error {
	if s.failure() != nil {
		return io.EOF
	}
	if !s.modeNow().RequestMessages {
		return s.inner.SendMsg(m)
	}
	body, err := s.marshal(m)
	if err != nil {
		s.process.end(err)
		return err
	}
	last := !s.rpc.ClientStreams
	if s.config.Observe {
		_ = s.send(s.messageEvent(body, last))
		return s.ended(s.inner.SendMsg(m))
	}
	if err := s.show(s.messageEvent(body, last), last); err == nil {
		return nil
	}
	<-s.sends.pumped // what the server returned comes first
	return s.ended(s.inner.SendMsg(m))
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

// ended is io.EOF in place of an error that the server brought about.
func (s *stream) ended(err error) error {
	if err != nil && s.failure() != nil {
		return io.EOF
	}
	return err
}

// show sends a message or the end of the request to the server.
func (s *stream) show(r *procv3.ProcessingRequest, last bool) error {
	if last {
		s.sendMu.Lock()
		s.closedAt = time.Now()
		s.sendMu.Unlock()
	}
	if err := s.send(r); err != nil {
		return err
	}
	if last {
		s.sendMu.Lock()
		s.closed = true
		s.sendMu.Unlock()
	}
	return nil
}

// CloseSend implements rpcconfig.Stream.
func (s *stream) CloseSend() error {
	switch {
	case s.failure() != nil:
		return nil
	case !s.modeNow().RequestMessages:
		return s.inner.CloseSend()
	case s.config.Observe:
		if s.rpc.ClientStreams {
			_ = s.send(s.halfCloseEvent())
		}
		return s.inner.CloseSend()
	case !s.rpc.ClientStreams: // its only message was the end
		return nil
	}
	if err := s.show(s.halfCloseEvent(), true); err == nil {
		return nil
	}
	<-s.sends.pumped
	return s.inner.CloseSend()
}

// pumpRequests sends on what the server returned.
func (s *stream) pumpRequests() {
	defer close(s.sends.pumped)
	sent, closed := false, false
	for {
		i, ok := s.requests.get()
		if !ok {
			break
		}
		if closed { // what comes after the end is dropped
			continue
		}
		if !i.nothing {
			m, err := s.returned(i.body)
			if err != nil {
				s.fail(err)
				continue
			}
			_ = s.inner.SendMsg(m) // whoever receives finds out
			sent = true
		}
		if i.last || sent && !s.rpc.ClientStreams {
			_ = s.inner.CloseSend()
			closed = true
			s.sendMu.Lock()
			at := s.closedAt
			s.sendMu.Unlock()
			if !at.IsZero() {
				s.record(clientHalfClose, at)
			}
		}
	}
	s.afterServer(sent, closed)
}

// afterServer has the RPC go on with what the server was told and did not return.
func (s *stream) afterServer(sent, closed bool) {
	s.sendMu.Lock()
	told := s.closed
	s.sendMu.Unlock()
	switch {
	case !told || closed || s.failure() != nil:
	case s.rpc.ClientStreams:
		_ = s.inner.CloseSend()
	case !sent:
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
