// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// SendHeader does what ServerStream.SendHeader does.
func (s *HandlerStream) SendHeader(md metadata.MD) error {
	if err := s.SetHeader(md); err != nil {
		return err
	}
	if s.HeaderSent() { // a Write that waits for the client may hold out
		return errHeaderSent
	}
	s.out.Lock()
	defer s.out.Unlock()
	if err := s.claimHeaders(); err != nil {
		return err
	}
	s.w.WriteHeader(http.StatusOK)
	s.flush.Flush()
	return nil
}

// claimHeaders sets the response headers, if SendHeader may send them. out is held.
func (s *HandlerStream) claimHeaders() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headers != headersUnsent || s.finished {
		return errHeaderSent
	}
	if s.clientGone() {
		return errConnGone
	}
	s.setHeaders()
	return nil
}

// Send does what ServerStream.Send does. net/http waits while the windows are used up, until the client
// gives up.
func (s *HandlerStream) Send(p Payload) error {
	h := s.lock()
	err := s.refusal()
	if h != nil {
		defer s.mu.Unlock()
		if err == nil {
			return s.send(h, p)
		}
		p.Data.Free()
		return err
	}
	s.mu.Unlock()
	defer s.out.Unlock()
	defer p.Data.Free()
	if err != nil {
		return err
	}
	return s.write(p)
}

// lock takes mu, and before it out, unless it returns what the call was handed over to: sending must not wait then.
func (s *HandlerStream) lock() *handedResponse {
	if s.handed.Load() != nil {
		s.mu.Lock()
		return s.handed.Load()
	}
	s.out.Lock()
	s.mu.Lock()
	h := s.handed.Load()
	if h != nil {
		s.out.Unlock()
	}
	return h
}

// refusal returns why no message can be sent, or nil. mu is held.
func (s *HandlerStream) refusal() error {
	if s.finished {
		if err := s.ctx.Err(); err != nil { // then the call has ended because of that
			return s.sendError(err)
		}
		return errFinished
	}
	return s.cold().spoilt.Err()
}

// write sends a message, and may wait for the client. out is held.
func (s *HandlerStream) write(p Payload) error {
	if err := s.beginWrite(); err != nil {
		return err
	}
	defer s.endWrite()
	s.needHeaders()
	prefix := grpcwire.Prefix(p.Compressed, uint32(p.Data.Len()))
	if _, err := s.w.Write(prefix[:]); err != nil {
		return s.writeError(err)
	}
	for b := range p.Data.All() {
		if _, err := s.w.Write(b.ReadOnlyData()); err != nil {
			return s.writeError(err)
		}
	}
	s.flush.Flush()
	return nil
}

// needHeaders sets the response headers, unless they are set. out is held.
func (s *HandlerStream) needHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headers == headersUnsent {
		s.setHeaders()
	}
}

// writeError returns the status for a response that net/http gave up with err.
func (s *HandlerStream) writeError(err error) error {
	if cause := s.ctx.Err(); cause != nil {
		return s.sendError(cause)
	}
	if late := contextError(&s.ctx); late != nil {
		return late
	}
	return status.Error(codes.Unavailable, err.Error())
}

// Reply sends the one message of a unary call and ends it.
func (s *HandlerStream) Reply(p Payload) error {
	defer p.Data.Free()
	s.out.Lock()
	defer s.out.Unlock()
	s.mu.Lock()
	finished, spoilt := s.finished, s.cold().spoilt
	s.mu.Unlock()
	if finished {
		return errFinished
	}
	if spoilt != nil {
		s.finish(nil)
		return spoilt.Err()
	}
	if err := s.write(p); err != nil {
		s.finish(status.Convert(err))
		return err
	}
	s.finish(nil)
	return nil
}

// Finish ends the call with st; nil stands for OK.
func (s *HandlerStream) Finish(st *status.Status) error {
	h := s.lock()
	finished := s.finished
	s.mu.Unlock()
	if h == nil {
		defer s.out.Unlock()
	}
	switch {
	case finished:
		return errFinished
	case h != nil:
		return h.finish(st)
	}
	s.finish(st)
	return nil
}

// finish sets the trailers, which net/http sends when its handler returns. out is held.
func (s *HandlerStream) finish(st *status.Status) {
	st = s.settle(st)
	s.flush.Flush() // what is set from here on goes into the trailers
	h := s.w.Header()
	h.Del(grpcwire.HeaderStatusDetails) // it was sent with the headers; net/http would send it once more, as its name is announced
	// Details that can't be encoded are left out.
	f, _ := grpcwire.EncodeStatus(st)
	h.Set(grpcwire.HeaderGRPCStatus, f.Code)
	if f.Message != "" {
		h.Set(grpcwire.HeaderGRPCMessage, f.Message)
	}
	if f.Details != "" {
		h.Set(grpcwire.HeaderStatusDetails, f.Details)
	}
	for k, vs := range s.cold().trailer {
		if k != grpcwire.HeaderStatusDetails || f.Details == "" {
			addHTTP(h, http.TrailerPrefix, pair{k, vs})
		}
	}
}

// settle ends the call. It returns the status for the trailers, in which nothing changes any more, and sets the response
// headers, unless they are set. out is held.
func (s *HandlerStream) settle(st *status.Status) *status.Status {
	s.mu.Lock()
	defer s.mu.Unlock() // also if a middleware's ResponseWriter panics
	s.finished = true
	if s.headers == headersUnsent {
		s.setHeaders()
	}
	return s.decideLocked(st)
}

// setHeaders sets the response headers, which net/http sends with the first byte of the body, or when it is
// flushed. They announce the names of the status trailers: wrappers, such as that of grpc-web, look for the
// announced names. mu is held.
func (s *HandlerStream) setHeaders() {
	s.headers = headersSent
	h := s.w.Header()
	for _, name := range [...]string{grpcwire.HeaderGRPCStatus, grpcwire.HeaderGRPCMessage, grpcwire.HeaderStatusDetails} {
		h.Add("Trailer", http.CanonicalHeaderKey(name))
	}
	h["Date"] = nil // gRPC has no use for it
	h.Set(grpcwire.HeaderContentType, grpcwire.ContentType(s.req.subtype))
	if name := s.SendCompress(); name != "" {
		h.Set(grpcwire.HeaderEncoding, name)
	}
	for k, vs := range s.cold().header {
		addHTTP(h, "", pair{k, vs})
	}
}

// pair is one key of an application's metadata.
type pair struct {
	key    string
	values []string
}

func addHTTP(h http.Header, prefix string, p pair) {
	if grpcwire.IsReservedReply(p.key) {
		return
	}
	for _, v := range p.values {
		if grpcwire.IsBinary(p.key) {
			v = string(grpcwire.AppendBinary(nil, v))
		}
		h.Add(prefix+p.key, v)
	}
}

// send is Send for a call that was handed over. mu is held.
func (s *HandlerStream) send(h *handedResponse, p Payload) error {
	if err := s.ctx.Err(); err != nil {
		p.Data.Free()
		return s.sendError(err)
	}
	if s.headers == headersUnsent {
		s.setHeaders()
	}
	return h.add(p)
}
