// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"runtime"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

// clientReceiver is the ClientStream as the receiver of what arrives.
type clientReceiver ClientStream

var _ h2.Receiver = (*clientReceiver)(nil)

// OnHeaders implements h2.Receiver.
func (r *clientReceiver) OnHeaders(b *h2.HeaderBlock, end bool) error {
	s := (*ClientStream)(r)
	resp, err := parseResponse(b, end)
	if err == nil {
		err = resp.malformed()
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	// "For HTTP/2 responses, a single ':status' pseudo-header field is defined", section
	// 8.3.2, and "Trailers MUST NOT include pseudo-header fields", section 8.1.
	switch {
	case s.headers == nil && resp.httpStatus == 0:
		return malformed("the response has no :status")
	case s.headers != nil && resp.httpStatus != 0 && end:
		return malformed(":status in trailers")
	}
	switch {
	case s.headers == nil && !end && resp.informational():
		return nil
	case s.headers == nil && resp.informational():
		return malformed("a response ends with informational headers")
	case s.headers == nil && !resp.isGRPC && !end:
		s.h2.Redirect(&foreignReceiver{stream: s, verdict: resp.verdict(nil)})
		return nil
	case s.headers == nil && !end && resp.unreadable() != nil:
		s.endLocked(nil, resp.unreadable(), lostMaybeSeen)
		return frame.Error{Code: frame.ProtocolError, Reason: resp.unreadable().Message()}
	case s.headers == nil && !end:
		s.headers = resp
		s.length = contentLength(resp.length)
		s.headersKnown()
		return nil
	case !end:
		return malformed("field block in the middle of a body")
	}
	if s.headers == nil && resp.isGRPC {
		s.length = contentLength(resp.length) // no body follows
	}
	if err := s.length.over(); err != nil {
		return err
	}
	if s.client.replied == s {
		s.client.replied = nil // the end wakes the caller
	}
	st := resp.verdict(s.headers)
	if err := s.end(); err != nil && st == nil {
		st = status.Convert(err)
	}
	if s.headers == nil && !resp.isGRPC {
		resp = nil // its fields are of no use
	}
	s.endLocked(resp, st, notLost)
	return nil
}

// Space implements h2.Receiver.
func (r *clientReceiver) Space(n, ahead int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.space(n, ahead)
}

// Take implements h2.Receiver.
func (r *clientReceiver) Take(p []byte, ahead, rest int) (grew int, err error) {
	return r.arrived(piece{p, len(p), ahead, rest})
}

// Filled implements h2.Receiver.
func (r *clientReceiver) Filled(n int) (grew int, err error) { return r.arrived(piece{n: n}) }

func (r *clientReceiver) arrived(p piece) (grew int, err error) {
	s := (*ClientStream)(r)
	s.mu.Lock()
	if s.headers == nil && !s.over {
		s.filling = false
		s.mu.Unlock()
		return 0, frame.Error{Code: frame.ProtocolError, Reason: "DATA before HEADERS"}
	}
	if err := s.length.arrived(p.n); err != nil {
		s.filling = false
		s.mu.Unlock()
		return 0, err
	}
	before := s.wake.reason
	expect, err := s.take(p, s.client.traffic())
	if err != nil {
		s.endLocked(nil, status.Convert(err), lostMaybeSeen)
		s.mu.Unlock()
		return 0, frame.Error{Code: frame.Cancel, Reason: err.Error()}
	}
	grew = s.change()
	yields := s.piles(p.n)
	replied := s.wake.reason == wakeReply && s.inbox.len() > 0
	answered := s.wake.answered(before)
	s.mu.Unlock()
	if answered {
		s.h2.Lend()
	}
	if replied {
		s.client.hasReply(s)
	}
	s.h2.Expect(expect, 0)
	if yields {
		runtime.Gosched()
	}
	return grew, nil
}

// OnEnd implements h2.Receiver. The body has ended without trailers.
func (r *clientReceiver) OnEnd() error {
	s := (*ClientStream)(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.length.over(); err != nil {
		return err
	}
	_ = s.end() // whether or not a message was cut short, the trailers are missing
	s.endLocked(nil, status.New(codes.Internal, "server closed the stream without sending trailers"), lostMaybeSeen)
	return nil
}

// OnAbort implements h2.Receiver.
func (r *clientReceiver) OnAbort(err *h2.StreamError) {
	s := (*ClientStream)(r)
	lost := lostMaybeSeen
	s.client.traffic().streamFailed(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err.Unprocessed && s.headers == nil { // a server that answers has processed it
		lost = lostUnseen
	}
	if s.endLocked(nil, s.abortStatus(err), lost) && !s.filling {
		s.asm.Abort()
	}
	s.closed = true // messages that have arrived whole can still be taken
}
