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

// readHeader waits for the headers, and for the external processor's changes to them.
func (s *stream) readHeader() (metadata.MD, error) {
	if <-s.started; s.beginErr != nil {
		return nil, nil // the RPC's status has the error
	}
	md, err := s.inner.Header()
	switch {
	case !s.modeNow().Response.Headers || err != nil:
		return md, err
	case md != nil:
		return s.showHeaders(md, false)
	}
	if trailer := s.inner.Trailer(); len(trailer["content-type"]) > 0 { // these are the headers
		trailer, err = s.showHeaders(trailer, true)
		s.recvs.only = trailer
	}
	return nil, err
}

// showHeaders sends the headers to the external processor, and returns them with its changes.
func (s *stream) showHeaders(md metadata.MD, last bool) (metadata.MD, error) {
	began := time.Now()
	answer, err := s.ask(responseHeaders, s.responseHeadersEvent(md, last))
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return md, nil
	}
	out, err := s.mutate(md, answer)
	if err != nil {
		return nil, err
	}
	s.record(serverHeaders, began)
	return out, nil
}

// Trailer implements rpcconfig.Stream.
func (s *stream) Trailer() metadata.MD {
	<-s.started
	if r := &s.recvs; r.pumped != nil {
		select {
		case <-r.pumped:
		default:
			return metadata.MD{}
		}
	}
	if s.recvs.ended || s.beginErr != nil {
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
	if <-s.started; s.beginErr != nil {
		return s.beginErr
	}
	if r.ended {
		return r.end
	}
	if s.modeNow().Response.Headers {
		_, _ = s.Header() // the RPC's status has any error
	}
	mode := s.modeNow()
	if mode.Response.Messages && !s.config.Observe && s.failure() == nil {
		template, ok := m.(proto.Message)
		if !ok {
			s.process.end(status.Errorf(codes.Internal, "extproc: a %T is no message of package proto", m))
			return s.conclude(s.receiveMsg(m))
		}
		r.pumped = make(chan struct{})
		go s.pumpResponses(template.ProtoReflect().New().Interface())
		return s.next(m)
	}
	err := s.receiveMsg(m)
	if err == nil {
		if msg, ok := m.(proto.Message); ok && mode.Response.Messages && s.config.Observe {
			if body, err := proto.Marshal(msg); err == nil {
				_ = s.send(s.responseMessageEvent(body))
			}
		}
		if s.rpc.ServerStreams {
			return nil
		}
		if err = s.conclude(io.EOF); err == io.EOF {
			return nil
		}
		forget(m) // the external processor has refused the RPC
		return err
	}
	return s.conclude(err)
}

// receiveMsg receives a message of the RPC. Once the external processor has refused the RPC, or failed, the
// application gets none of those that have come.
func (s *stream) receiveMsg(m any) error {
	err := s.inner.RecvMsg(m)
	if s.failure() == nil {
		return err
	}
	for err == nil {
		err = s.inner.RecvMsg(m) // the RPC is cancelled: it ends when those are taken
	}
	forget(m)
	return err
}

// forget empties a message that the application must not get.
func forget(m any) {
	if msg, ok := m.(proto.Message); ok {
		proto.Reset(msg)
	}
}

// conclude is called when the RPC has ended. err is io.EOF for success. conclude returns the
// error with which the RPC ends for the application.
func (s *stream) conclude(err error) error {
	r := &s.recvs
	r.trailer = s.inner.Trailer()
	only := r.onlyTrailers()
	switch {
	case s.failure() != nil:
		err = s.immediately()
	case only != nil: // the external processor has seen them already
		r.trailer = only
	case s.modeNow().Response.Trailers:
		err = s.showTrailers(err)
	}
	if r.pumped != nil {
		err = s.flush(err)
	}
	r.ended, r.end = true, err
	s.finish()
	return err
}

// onlyTrailers returns only. It waits for a Header that may be about to set it.
func (r *receiving) onlyTrailers() metadata.MD {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.only
}

// showTrailers waits for the external processor's changes to the trailers and the status. It
// returns the resulting status.
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

// pumpResponses sends the response messages to the external processor until the RPC ends.
func (s *stream) pumpResponses(template proto.Message) {
	defer close(s.recvs.pumped)
	defer s.responses.close()
	defer func() {
		if !s.recvs.ended { // the program's codec or a stats handler has called runtime.Goexit
			s.process.end(errLeft)
			s.recvs.ended, s.recvs.end = true, cmp.Or(s.failure(), errLeft)
			s.finish()
		}
	}()
	for {
		m := template.ProtoReflect().New().Interface()
		err := s.inner.RecvMsg(m)
		if err != nil {
			_ = s.conclude(err)
			return
		}
		s.responses.room()
		if err := s.showResponse(m); err != nil {
			_ = s.conclude(err)
			return
		}
		if !s.rpc.ServerStreams {
			_ = s.conclude(io.EOF)
			return
		}
	}
}

// showResponse sends a message to the external processor. If that takes no more events, the
// message goes to the application directly. An error ends the RPC.
func (s *stream) showResponse(m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return status.Errorf(codes.Internal, "extproc: %v", err)
	}
	if err := s.send(s.responseMessageEvent(body)); err == nil {
		s.recvs.shown.add(item{message: m}, !s.rpc.ServerStreams)
		return nil
	}
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.flush(nil); err != nil {
		return err
	}
	return s.goOn(item{message: m})
}

func (s *stream) goOn(i item) error {
	if !s.responses.put(i) { // no goroutine will take the item
		return status.FromContextError(cmp.Or(s.ctx.Err(), context.Canceled)).Err()
	}
	return nil
}

// flush passes on the messages that the external processor got and did not return, if it failed
// and the RPC may go on. It returns err, or the reason why the RPC can't go on.
func (s *stream) flush(err error) error {
	if !s.failedOpen() {
		return err
	}
	s.process.mu.Lock()
	received := s.process.received
	s.process.mu.Unlock()
	if received != nil { // what the response that is being handled returns comes first; fail has ended the stream
		<-received
	}
	s.process.mu.Lock()
	returned := s.process.returned
	s.process.mu.Unlock()
	left, ok := s.recvs.shown.left(returned)
	s.recvs.shown = kept{}
	if !ok {
		s.process.end(errKept)
		return errKept
	}
	for _, i := range left {
		if err := s.goOn(i); err != nil {
			return err
		}
	}
	return err
}

// immediately returns the error with which the external processor has ended the RPC. It also
// applies the processor's changes to the trailers.
func (s *stream) immediately() error {
	s.process.mu.Lock()
	in, err := s.process.immediate, s.process.err
	s.process.mu.Unlock()
	if h := in.GetHeaders(); h != nil {
		if md, err := s.config.Rules.Apply(s.recvs.trailer, h.GetSetHeaders(), h.GetRemoveHeaders()); err == nil {
			s.recvs.trailer = md
		}
	}
	return err
}

// next receives the next message that the external processor has returned.
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
	// An RPC with only one response ends with that message.
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
