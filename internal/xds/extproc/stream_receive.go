// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"cmp"
	"context"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Header implements rpcconfig.Stream.
func (s *stream) Header() (metadata.MD, error) {
	r := &s.recvs
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun = true
		r.header, r.headerE = s.readHeader()
	}
	return r.header, r.headerE
}

// readHeader waits for the headers, and for what the server makes of them.
func (s *stream) readHeader() (metadata.MD, error) {
	md, err := s.inner.Header()
	if err != nil || md == nil || !s.modeNow().ResponseHeaders {
		return md, err // without headers there are trailers alone
	}
	began := time.Now()
	answer, err := s.ask(responseHeaders, s.responseHeadersEvent(md))
	if err != nil || answer == nil {
		return md, err
	}
	out, err := s.mutate(md, answer)
	if err == nil {
		s.record(serverHeaders, began)
	}
	return out, err
}

// Trailer implements rpcconfig.Stream.
func (s *stream) Trailer() metadata.MD {
	if r := &s.recvs; r.pumped != nil {
		select {
		case <-r.pumped:
		default:
			return metadata.MD{}
		}
	}
	if s.recvs.ended {
		return s.recvs.trailer
	}
	return s.inner.Trailer()
}

// RecvMsg implements rpcconfig.Stream.
func (s *stream) RecvMsg(m any) error {
	r := &s.recvs
	if r.pumped != nil {
		return s.next(m)
	}
	if r.ended {
		return r.end
	}
	if s.modeNow().ResponseHeaders {
		_, _ = s.Header() // the end of the RPC says what is wrong
	}
	mode := s.modeNow()
	if mode.ResponseMessages && !s.config.Observe && s.failure() == nil {
		template, ok := m.(proto.Message)
		if !ok {
			err := status.Errorf(codes.Internal, "extproc: a %T is no message of package proto", m)
			s.process.end(err)
			return err
		}
		r.pumped = make(chan struct{})
		go s.pumpResponses(template.ProtoReflect().New().Interface())
		return s.next(m)
	}
	err := s.inner.RecvMsg(m)
	if err == nil {
		if msg, ok := m.(proto.Message); ok && mode.ResponseMessages && s.config.Observe {
			if body, err := proto.Marshal(msg); err == nil {
				_ = s.send(s.responseMessageEvent(body))
			}
		}
		if s.rpc.ServerStreams {
			return nil
		}
		if err = s.close(io.EOF); err == io.EOF {
			return nil
		}
		return err
	}
	return s.close(err)
}

// close is called when the RPC has ended, io.EOF for success. It returns how it ends for the
// application.
func (s *stream) close(err error) error {
	r := &s.recvs
	r.trailer = s.inner.Trailer()
	if failed := s.failure(); failed != nil {
		err = failed
	} else if s.modeNow().ResponseTrailers {
		err = s.showTrailers(err)
	}
	r.ended, r.end = true, err
	s.finish()
	return err
}

// showTrailers waits for what the server makes of the trailers, and of the status.
func (s *stream) showTrailers(err error) error {
	r := &s.recvs
	began := time.Now()
	answer, failed := s.ask(responseTrailers, s.trailersEvent(r.trailer))
	if failed != nil {
		return failed
	}
	if answer == nil {
		return err
	}
	if answer.immediate != nil {
		if err = statusOf(answer.immediate).Err(); err == nil {
			err = io.EOF
		}
	}
	out, failed := s.mutate(r.trailer, answer)
	if failed != nil {
		return failed
	}
	r.trailer = out
	s.record(serverTrailers, began)
	return err
}

// pumpResponses shows the server what messages come, until the RPC ends.
func (s *stream) pumpResponses(template proto.Message) {
	defer close(s.recvs.pumped)
	defer s.responses.close()
	for {
		m := template.ProtoReflect().New().Interface()
		err := s.inner.RecvMsg(m)
		if err != nil {
			_ = s.close(err)
			return
		}
		if err := s.pass(m); err != nil {
			_ = s.close(err)
			return
		}
		if !s.rpc.ServerStreams {
			_ = s.close(io.EOF)
			return
		}
	}
}

// pass sends a message to the server, or past it where it wants none. An error ends the RPC.
func (s *stream) pass(m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return status.Errorf(codes.Internal, "extproc: %v", err)
	}
	if err := s.send(s.responseMessageEvent(body)); err == nil {
		return nil
	}
	if err := s.failure(); err != nil {
		return err
	}
	if !s.responses.put(item{message: m}) { // nobody will take it
		return status.FromContextError(cmp.Or(s.ctx.Err(), context.Canceled)).Err()
	}
	return nil
}

// next returns the next message that the server returned.
func (s *stream) next(m any) error {
	r := &s.recvs
	i, ok := s.responses.get()
	if ok && s.rpc.ServerStreams {
		return s.fill(m, i)
	}
	if !ok {
		<-r.pumped
		if r.end == io.EOF && !s.rpc.ServerStreams {
			return status.Error(codes.Internal, "extproc: the external processor kept the response")
		}
		return r.end
	}
	// A unary RPC ends with its message.
	_, more := s.responses.get()
	<-r.pumped
	switch {
	case r.end != io.EOF:
		return r.end
	case more:
		return status.Error(codes.Internal, "extproc: the external processor returned more than one response")
	}
	return s.fill(m, i)
}

func (s *stream) fill(m any, i item) error {
	to, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "extproc: a %T is no message of package proto", m)
	}
	if i.message != nil {
		proto.Reset(to)
		proto.Merge(to, i.message)
		return nil
	}
	if err := proto.Unmarshal(i.body, to); err != nil {
		err = status.Errorf(codes.Internal, "extproc: the external processor returned what is no %s: %v", to.ProtoReflect().Descriptor().FullName(), err)
		s.process.end(err)
		return err
	}
	return nil
}
