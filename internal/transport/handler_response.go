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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headers != headersUnsent || s.finished {
		return errHeaderSent
	}
	if s.clientGone() {
		return errConnGone
	}
	s.setHeaders()
	s.w.WriteHeader(http.StatusOK)
	s.flush.Flush()
	return nil
}

// Send does what ServerStream.Send does. net/http waits while the windows are used up, until the client
// gives up.
func (s *HandlerStream) Send(p Payload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.handed.Load(); h != nil && !s.finished && s.cold().spoilt == nil {
		return s.send(h, p)
	}
	defer p.Data.Free()
	if s.finished {
		if err := s.ctx.Err(); err != nil { // then the call has ended because of that
			return s.sendError(err)
		}
		return errFinished
	}
	if s.cold().spoilt != nil {
		return s.cold().spoilt.Err()
	}
	return s.write(p)
}

// write sends a message. mu is held.
func (s *HandlerStream) write(p Payload) error {
	if err := s.beginWrite(); err != nil {
		return err
	}
	defer s.endWrite()
	if s.headers == headersUnsent {
		s.setHeaders()
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return errFinished
	}
	if s.cold().spoilt != nil {
		s.finish(nil)
		return s.cold().spoilt.Err()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return errFinished
	}
	if h := s.handed.Load(); h != nil {
		return h.finish(st)
	}
	s.finish(st)
	return nil
}

// finish sets the trailers, which net/http sends when its handler returns. mu is
// held.
func (s *HandlerStream) finish(st *status.Status) {
	s.finished = true
	st = s.decideLocked(st)
	if s.headers == headersUnsent {
		s.setHeaders()
	}
	s.flush.Flush() // what is set from here on goes into the trailers
	h := s.w.Header()
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
