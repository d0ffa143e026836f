// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Method returns the full method name, "/package.Service/Method".
func (s *ServerStream) Method() string { return s.req.method.Path() }

// Known returns what ServerConfig.Known returned for the call's path. If that was nil, Known returns a
// Method that is none of the server's own.
func (s *ServerStream) Known() Method { return s.req.method }

// ContentSubtype returns the name of the codec that the client uses, "" for the default.
func (s *ServerStream) ContentSubtype() string { return s.req.subtype }

// RecvCompress returns the encoding of the client's messages, "" for none.
func (s *ServerStream) RecvCompress() string { return s.req.encoding }

// AcceptEncoding returns the client's list of encodings that it can read.
func (s *ServerStream) AcceptEncoding() string { return s.req.acceptEncoding() }

// HeaderWireLength returns the size of the request headers as HPACK coded them.
func (s *ServerStream) HeaderWireLength() int { return int(s.req.size) }

// IncomingHeader returns the request's metadata as a new map.
func (s *ServerStream) IncomingHeader() metadata.MD { return s.req.fields().md() }

// Context returns the call's context. It ends when the handler returns, the client cancels, the deadline
// passes or the connection is lost.
func (s *ServerStream) Context() context.Context { return &s.handler }

// BareContext returns the transport's own context of the call, even if Context returns one derived from it.
func (s *ServerStream) BareContext() context.Context { return s.asContext() }

// Canceled reports whether the client has cancelled the call, or is gone: nobody is told how the call ends.
func (s *ServerStream) Canceled() bool { return s.asContext().Err() == context.Canceled }

// Peer returns the client. Its fields must not be changed.
func (s *ServerStream) Peer() *peer.Peer { return s.server.peer }

// Server returns the connection that carries the call.
func (s *ServerStream) Server() *Server { return s.server }

// Recv returns the next message, which belongs to the caller. It returns io.EOF when the client has sent
// all of them. It returns an error with a status when the call was cancelled, the deadline has passed, or a
// message broke a rule.
func (s *ServerStream) Recv() (grpcwire.Message, error) {
	s.mu.Lock()
	for {
		if m, ok := s.inbox.pop(); ok {
			ended, freed := s.ended, -s.change()
			s.mu.Unlock()
			n := 0 // there is no window to open once the client has ended the body
			if !ended {
				n = grpcwire.PrefixLen + m.Len
			}
			s.h2.Consume(s.taken(n, freed))
			return m, nil
		}
		switch {
		case s.cold().bodyErr != nil:
			defer s.mu.Unlock()
			return grpcwire.Message{}, s.cold().bodyErr.Err()
		case s.ended && !s.closed: // else messages may have been dropped, and the context has ended
			s.mu.Unlock()
			return grpcwire.Message{}, io.EOF
		}
		if c := s.asContext(); c.isOver() || c.passed() {
			s.mu.Unlock()
			return grpcwire.Message{}, status.FromContextError(c.ctxErr()).Err()
		}
		if err := s.cold().bound.ended(); err != nil {
			s.mu.Unlock()
			return grpcwire.Message{}, err
		}
		s.await()
	}
}

// await waits until something may have arrived, or the context ends. mu is held before it and
// after it, not during the wait.
func (s *ServerStream) await() {
	s.asContext().startTimer()
	s.body.await(wakeMessage, &s.mu, &s.h2)
	if s.ended {
		s.wake.retire()
	}
}

// heedDeadline resets the call if its deadline has passed. Nobody may have noticed that yet. Or the timer
// has ended the context, which the handler saw, but has not reset the stream yet.
func (s *ServerStream) heedDeadline() {
	if s.ctxErr() == context.DeadlineExceeded {
		s.expired()
	}
}

// SendHeader sends the response headers, with md added to what was set.
func (s *ServerStream) SendHeader(md metadata.MD) error {
	if err := s.SetHeader(md); err != nil && err != errHeaderSent {
		return err
	}
	s.mu.Lock()
	if over := s.asContext().isOver(); over && !s.finished {
		s.mu.Unlock()
		return s.sendError(s.ctxErr())
	}
	if s.headers != headersUnsent || s.finished {
		gone := s.finished && !s.stranded
		s.mu.Unlock()
		if err := s.ctxErr(); gone && err != nil {
			return status.FromContextError(err).Err()
		}
		return errHeaderSent
	}
	var f h2.Frames
	s.takeHeaders(&f)
	s.mu.Unlock()
	return s.send(f)
}

// Send sends a message, and the headers before the first. It waits while too many bytes of earlier messages
// are queued (h2.Stream.Offer), and a while if the message is lent (h2.Stream.Reclaim).
func (s *ServerStream) Send(p Payload) error {
	if p.Lent != nil {
		defer func() { s.h2.Reclaim(p.Lent, s.asContext().Done()) }()
	}
	f := p.frames()
	for {
		if err := s.mayNotSend(&f); err != nil {
			p.Data.Free()
			return err
		}
		room, err := s.h2.Offer(&f)
		if room == nil {
			if err = s.sent(&f, err); err == nil {
				s.server.traffic().messageSent()
			}
			return err
		}
		select {
		case <-room:
		case <-s.asContext().Done(): // mayNotSend says why
		case <-s.cold().bound.done():
			if s.ctxErr() != nil { // it ends with the call, whose end comes first
				continue
			}
			p.Data.Free()
			return s.cold().bound.err()
		}
	}
}

// mayNotSend returns why a message can't be sent. If it can, and the response headers were not sent,
// mayNotSend puts them in front of f. A stream without room has sent its headers.
func (s *ServerStream) mayNotSend(f *h2.Frames) error {
	if err := s.ctxErr(); err != nil {
		return s.sendError(err)
	}
	var err error
	s.mu.Lock()
	s.awaitHeaders()
	over := s.asContext().isOver() // meanwhile: then the headers may not be sent
	switch {
	case s.cold().spoilt != nil:
		err = s.cold().spoilt.Err()
	case s.finished:
		err = errFinished
	case !over:
		s.takeHeaders(f)
	}
	s.mu.Unlock()
	if over && err == nil {
		err = s.sendError(s.ctxErr())
	}
	return err
}

// awaitHeaders waits for a goroutine that is sending the response headers, or for the end of the call or of its context:
// that goroutine may have been ended by the program's code. mu is held before and after, not during the wait.
func (s *ServerStream) awaitHeaders() {
	for s.headers == headersGoing && !s.finished && !s.asContext().isOver() {
		out := s.cold().headersOut
		if out == nil {
			out = make(chan struct{})
			s.mutableCold().headersOut = out
		}
		s.mu.Unlock()
		<-out
		s.mu.Lock()
	}
}

// takeHeaders puts the response headers in front of f if they are not sent yet. The caller
// then passes f to send. mu is held.
func (s *ServerStream) takeHeaders(f *h2.Frames) {
	if s.headers == headersUnsent {
		s.headers = headersGoing
		f.Headers = (*replyHeaders)(s)
	}
}

// sendEnd is send for the frames that end the call. The handler's goroutine ends soon after, and may wait
// for the connection then: see handled. The owner of a call that was handed over may not wait. done says
// that the caller is the handler's goroutine, and runs nothing before its end that may take long.
//
// If programs are told of the end next, another goroutine writes. The caller, which goes on meanwhile, has
// most often told them by the time the client knows, and however long they take, the client does not wait.
func (s *ServerStream) sendEnd(f h2.Frames, done bool) error {
	if s.watched {
		return s.sent(&f, s.h2.SendSoon(f))
	}
	if s.owner != nil {
		return s.send(f)
	}
	return s.sent(&f, s.h2.SendLast(f, done))
}

func (s *ServerStream) send(f h2.Frames) error { return s.sent(&f, s.h2.Send(f)) }

// sent is called after the connection took the frames f, or refused them.
func (s *ServerStream) sent(f *h2.Frames, err error) error {
	tooLarge, _ := err.(*h2.ErrHeaderListTooLarge)
	if tooLarge != nil {
		s.noteTooLarge(tooLarge)
	}
	if f.Headers != nil {
		s.headersDone(tooLarge)
	}
	switch {
	case err == nil:
		return nil
	case tooLarge != nil:
		return headerListError(tooLarge, "client").Err()
	}
	if cause := s.ctxErr(); cause != nil {
		return s.sendError(cause)
	}
	return status.Error(codes.Unavailable, err.Error())
}

// sendError returns why nothing can be sent on a stream whose context has ended with cause.
func (s *ServerStream) sendError(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stranded {
		return errConnGone
	}
	return status.FromContextError(cause).Err()
}

// wakeForHeaders wakes who waits for the goroutine that sends the response headers. mu is held.
func (s *ServerStream) wakeForHeaders() {
	if out := s.cold().headersOut; out != nil {
		close(out)
		s.mutableCold().headersOut = nil
	}
}

// headersDone is called after the response headers were sent, or refused. If they were larger than the
// client accepts, it gets trailers instead that say so, and the call is over: nothing can be sent without
// headers. If those trailers are too large as well, the stream is reset.
func (s *ServerStream) headersDone(tooLarge *h2.ErrHeaderListTooLarge) {
	ended := false // by this call
	s.mu.Lock()
	if tooLarge != nil {
		ended, s.finished = !s.finished, true
		if s.cold().trailer != nil {
			s.mutableCold().trailer = nil
		}
		s.out = encodeStatus(headerListError(tooLarge, "client"))
		s.out.bare = true
	}
	s.headers = headersSent
	s.wakeForHeaders()
	s.mu.Unlock()
	if tooLarge == nil {
		return
	}
	err := s.h2.Send(h2.Frames{Trailers: (*replyTrailers)(s)})
	if ended {
		s.release(err == nil)
	}
}

// Reply sends the one message of a unary call and ends it, in one piece. The handler's goroutine calls it,
// when the handler has returned.
func (s *ServerStream) Reply(p Payload) error {
	s.heedDeadline()
	f := p.frames()
	if !s.finish(nil, &f) {
		f.Data.Free()
		return errFinished
	}
	left := true
	defer func() {
		if left { // code of the program, such as a wrapper's CountWritten, has ended the goroutine
			s.release(false)
		}
	}()
	err := s.sendEnd(f, !s.watched)
	left = false
	if err == nil && s.cold().spoilt == nil {
		s.server.traffic().messageSent()
	}
	s.release(err == nil)
	if err == nil {
		err = s.cold().spoilt.Err() // nothing spoils a call that is finished
	}
	return err
}

// Finish ends the call with st; nil stands for OK. Any goroutine may end a stream whose handler still runs.
func (s *ServerStream) Finish(st *status.Status) error {
	s.heedDeadline()
	var f h2.Frames
	if !s.finish(st, &f) {
		return errFinished
	}
	left := true
	defer func() {
		if left { // as in Reply
			s.release(false)
		}
	}()
	err := s.sendEnd(f, false)
	left = false
	s.release(err == nil)
	return err
}

// finish decides how the call ends, once. It adds the trailers to f, and the headers if they were not sent.
// Nobody else takes the headers after that.
func (s *ServerStream) finish(st *status.Status, f *h2.Frames) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awaitHeaders(); s.headers == headersGoing && !s.finished {
		// The context has ended meanwhile. What follows must not overtake the headers, so the stream is reset first.
		s.mu.Unlock()
		s.heedDeadline()
		s.mu.Lock()
	}
	if s.finished {
		return false
	}
	s.finished = true
	if end := s.decideLocked(st); end != st {
		st = end
		f.Data.Free()
		*f = h2.Frames{}
	}
	bare := false
	switch {
	case f.HasData || len(s.cold().header) > 0:
		s.takeHeaders(f)
	case s.headers == headersUnsent:
		bare = true
	}
	f.Trailers = (*replyTrailers)(s)
	switch {
	case st != nil && (st.Code() != codes.OK || st.Message() != "" || len(st.Proto().GetDetails()) > 0):
		s.out = encodeStatus(st)
		s.out.bare = bare
	case bare:
		s.out = &bareOutcome
	default:
		s.out = &okOutcome
	}
	return true
}

// Most calls end with one of these, and so need no memory for it.
var (
	okOutcome   = outcome{status: grpcwire.StatusFields{Code: "0"}}
	bareOutcome = outcome{status: grpcwire.StatusFields{Code: "0"}, bare: true}
)

// encodeStatus returns the outcome for st. Details that can't be encoded are left out: the code and the
// message still arrive.
func encodeStatus(st *status.Status) *outcome {
	f, _ := grpcwire.EncodeStatus(st)
	return &outcome{status: f}
}

// release ends the context and frees what was received and not taken. well says that
// the client is told how the call ended.
func (s *ServerStream) release(well bool) {
	s.server.traffic().streamEnded(well)
	s.mu.Lock()
	derived := s.asContext().cancelLocked(cancelled)
	s.ended = true
	s.close()
	s.mu.Unlock()
	derived.now()
	// h2's Done follows, and refunds what is still charged.
}
