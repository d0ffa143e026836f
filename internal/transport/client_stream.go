// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ClientStream is one attempt of a call. Send and CloseSend may be called by one
// goroutine at a time, Recv by one, and both at once; the others by any.
type ClientStream struct {
	h2     h2.Stream
	client *Client
	ctx    context.Context
	call   *Call // nil once the request headers are sent

	// sentEnd belongs to the sender.
	sentEnd bool

	body       // its mu guards what follows
	headers    *response
	gotHeaders chan struct{} // closed with headers or the end; nil while nobody waits
	trailers   *response
	foreign    *foreign // the beginning of a response that is not of gRPC
	over       bool     // the end is known
	status     *status.Status
	lost       lostKind
}

// lostKind says what became of a stream that ended without trailers.
type lostKind uint8

const (
	notLost       lostKind = iota
	lostMaybeSeen          // the peer may have acted on it
	lostUnseen             // the peer certainly has not
)

// Send sends a message; last says that it is the last. It waits while more than
// a window's worth of earlier ones is queued. An error is io.EOF if the stream
// is over: Recv and Status tell why.
func (s *ClientStream) Send(p Payload, last bool) error {
	for {
		room := s.h2.Room()
		if room == nil {
			break
		}
		select {
		case <-room:
		case <-s.ctx.Done():
			p.Data.Free()
			s.Cancel(s.ctx.Err())
			return io.EOF
		}
	}
	f := p.frames()
	f.End = last
	s.sentEnd = last
	if s.h2.Send(f) != nil {
		return io.EOF
	}
	s.client.traffic().messageSent()
	return nil
}

// Enqueue is Send without a wait, for who bounds by other means what it queues.
func (s *ClientStream) Enqueue(p Payload, last bool) error {
	f := p.frames()
	f.End = last
	s.sentEnd = last
	if s.h2.Send(f) != nil {
		return io.EOF
	}
	s.client.traffic().messageSent()
	return nil
}

// CloseSend says that no message follows.
func (s *ClientStream) CloseSend() error {
	if s.sentEnd {
		return nil
	}
	s.sentEnd = true
	if s.h2.Send(h2.Frames{End: true}) != nil {
		return io.EOF
	}
	return nil
}

// Recv returns the next message, which belongs to the caller. Once the stream is
// over and its messages are taken it returns io.EOF, and Status says how it
// ended. When the context is done the stream is cancelled, and messages that
// wait are dropped.
func (s *ClientStream) Recv() (grpcwire.Message, error) {
	s.mu.Lock()
	for {
		if m, ok := s.inbox.pop(); ok {
			over, freed := s.over, -s.change()
			s.mu.Unlock()
			if !over {
				s.h2.Consume(grpcwire.PrefixLen+m.Len, freed)
			}
			return m, nil
		}
		if s.over {
			s.mu.Unlock()
			return grpcwire.Message{}, io.EOF
		}
		s.await(wakeMessage)
	}
}

// AwaitEnd waits until the stream is over, or has brought more than one message:
// after it Recv does not wait where a call may have one reply only.
func (s *ClientStream) AwaitEnd() {
	s.mu.Lock()
	for !s.over && s.inbox.len() < 2 {
		s.await(wakeEnd)
	}
	s.mu.Unlock()
}

// Header waits for the response headers and returns what the application may
// see of them; nil if the stream ended without any.
func (s *ClientStream) Header() metadata.MD {
	s.mu.Lock()
	if s.headers == nil && !s.over {
		if s.gotHeaders == nil {
			s.gotHeaders = make(chan struct{})
		}
		ch := s.gotHeaders
		s.mu.Unlock()
		select {
		case <-ch:
		case <-s.ctx.Done():
			s.Cancel(s.ctx.Err())
		}
		s.mu.Lock()
	}
	h := s.headers
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.fields.md()
}

// await waits, with mu held before and after, until what is wanted may have
// come. If the context ends first the stream is cancelled.
func (s *ClientStream) await(what wakeReason) {
	ch := s.wake.arm(what)
	expect := s.expect()
	s.mu.Unlock()
	s.h2.Expect(expect)
	select {
	case <-ch:
	case <-s.ctx.Done():
		s.Cancel(s.ctx.Err())
	}
	s.mu.Lock()
	s.wake.disarm()
}

// Cancel ends the stream, if there is more to receive, with the status that err,
// an error of a context, stands for.
func (s *ClientStream) Cancel(err error) {
	s.abort(frame.Cancel, status.FromContextError(err))
}

// Fail ends the stream, if there is more to receive, with st.
func (s *ClientStream) Fail(st *status.Status) { s.abort(frame.Cancel, st) }

func (s *ClientStream) abort(code frame.ErrCode, st *status.Status) {
	s.mu.Lock()
	first := s.endLocked(nil, st, lostMaybeSeen)
	if !first && s.inbox.len() > 0 {
		s.status = st // its end is lost with the messages before it
	}
	if first || s.inbox.len() > 0 {
		s.close()
	}
	s.mu.Unlock()
	if first {
		s.h2.Reset(code)
	}
}

// endLocked makes the stream's end known, once.
func (s *ClientStream) endLocked(trailers *response, st *status.Status, lost lostKind) bool {
	if s.over {
		return false
	}
	s.over = true
	s.trailers, s.status, s.lost = trailers, st, lost
	s.client.traffic().streamEnded(lost == notLost)
	s.wake.signal(wakeEnd, 0)
	s.headersKnown()
	return true
}

// headersKnown wakes those who wait for the response headers.
func (s *ClientStream) headersKnown() {
	if s.gotHeaders != nil {
		close(s.gotHeaders)
		s.gotHeaders = nil
	}
}

// Status is how the stream ended; nil stands for OK. It is meant to be called
// after Recv returned io.EOF.
func (s *ClientStream) Status() *status.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Trailer is what the application may see of the trailers; empty if there were
// none.
func (s *ClientStream) Trailer() metadata.MD {
	s.mu.Lock()
	t := s.trailers
	s.mu.Unlock()
	if t == nil {
		return metadata.MD{} // programs write to it
	}
	return t.fields.md()
}

// TrailersOnly reports that the reply was a single block of headers: trailers
// without headers before them.
func (s *ClientStream) TrailersOnly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trailers != nil && s.headers == nil
}

// GotTrailers reports that the reply's end has arrived.
func (s *ClientStream) GotTrailers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trailers != nil
}

// Unprocessed reports that the stream is over and the peer did nothing for it.
func (s *ClientStream) Unprocessed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost == lostUnseen
}

// GotHeaders reports whether response headers, other than a trailers-only reply,
// have arrived: from then on an RPC is committed to this attempt.
func (s *ClientStream) GotHeaders() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers != nil
}

// RecvCompress is the encoding of the messages that are received. It does not
// change once the stream is over.
func (s *ClientStream) RecvCompress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headers == nil {
		return ""
	}
	return s.headers.encoding
}

// HeaderWireLength is the size of the received header list, 0 before it is there.
func (s *ClientStream) HeaderWireLength() int {
	return s.blockSize(func() *response { return s.headers })
}

// TrailerWireLength is the size of the received trailers, 0 before they are there.
func (s *ClientStream) TrailerWireLength() int {
	return s.blockSize(func() *response { return s.trailers })
}

func (s *ClientStream) blockSize(of func() *response) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := of(); r != nil {
		return r.size
	}
	return 0
}

// Client is the connection that carries the stream.
func (s *ClientStream) Client() *Client { return s.client }

// Context is the context the stream was started with.
func (s *ClientStream) Context() context.Context { return s.ctx }

// clientReceiver is the ClientStream as the receiver of what arrives.
type clientReceiver ClientStream

// OnHeaders implements h2.Receiver.
func (r *clientReceiver) OnHeaders(b *h2.HeaderBlock, end bool) error {
	s := (*ClientStream)(r)
	resp := parseResponse(b)
	if resp.fault != "" {
		return resp.malformed()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	// "For HTTP/2 responses, a single ':status' pseudo-header field is defined", section
	// 8.3.2, and "Trailers MUST NOT include pseudo-header fields", section 8.1.
	switch {
	case s.headers == nil && s.foreign == nil && resp.httpStatus == 0:
		return malformed("the response has no :status")
	case s.headers != nil && resp.httpStatus != 0 && end:
		return malformed(":status in trailers")
	}
	switch {
	case s.headers == nil && !end && resp.informational():
		return nil
	case s.headers == nil && resp.informational():
		return malformed("a response ends with informational headers")
	case s.foreign != nil && end:
		s.endLocked(nil, s.foreign.status(), notLost)
		return nil
	case s.headers == nil && !resp.isGRPC && !end:
		s.foreign = &foreign{verdict: resp.verdict(nil)}
		return nil
	case s.headers == nil && !end && resp.unreadable != nil:
		s.endLocked(nil, resp.unreadable, lostMaybeSeen)
		return frame.Error{Code: frame.Cancel, Reason: resp.unreadable.Message()}
	case s.headers == nil && !end:
		s.headers = resp
		s.body.length = resp.length
		s.headersKnown()
		return nil
	case !end:
		return malformed("field block in the middle of a body")
	}
	if err := s.counted(); err != nil {
		return err
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
	if r.foreign != nil { // which the reader writes alone
		return r.foreign.space(n)
	}
	return r.space(n, ahead)
}

// Filled implements h2.Receiver.
func (r *clientReceiver) Filled(n int) (grew int, err error) {
	s := (*ClientStream)(r)
	s.mu.Lock()
	if s.foreign != nil {
		defer s.mu.Unlock()
		if s.foreign.filled(n); !s.foreign.full() {
			return 0, nil
		}
		s.endLocked(nil, s.foreign.status(), lostMaybeSeen)
		return 0, frame.Error{Code: frame.Cancel, Reason: "not a gRPC response"}
	}
	if s.headers == nil && !s.over {
		s.filling = false
		s.mu.Unlock()
		return 0, frame.Error{Code: frame.ProtocolError, Reason: "DATA before HEADERS"}
	}
	if err := s.count(n); err != nil {
		s.filling = false
		s.mu.Unlock()
		return 0, err
	}
	expect, err := s.filled(n, s.client.traffic())
	if err != nil {
		s.endLocked(nil, status.Convert(err), lostMaybeSeen)
		s.mu.Unlock()
		return 0, frame.Error{Code: frame.Cancel, Reason: err.Error()}
	}
	grew = s.change()
	s.mu.Unlock()
	s.h2.Expect(expect)
	return grew, nil
}

// OnEnd implements h2.Receiver: a body that ends without trailers.
func (r *clientReceiver) OnEnd() error {
	s := (*ClientStream)(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreign != nil {
		s.endLocked(nil, s.foreign.status(), notLost)
		return nil
	}
	if err := s.counted(); err != nil {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if err.Unprocessed && s.headers == nil { // a server that answers has processed it
		lost = lostUnseen
	}
	st := s.abortStatus(err)
	if s.foreign != nil && err.Remote {
		st = s.foreign.status()
	}
	if s.endLocked(nil, st, lost) && !s.filling {
		s.asm.Abort()
	}
	s.closed = true // what has arrived whole can still be taken
}

// lostText tells why the connection was lost, and what the peer said before. Programs look
// for these texts, which are those of the published module.
func (c *Client) lostText(cause error) string {
	text := cause.Error()
	if below, ok := errors.AsType[*h2.IOError](cause); ok && below.Op == "read" {
		text = "error reading from server: " + c.plainly(below.Err).Error()
	} else if rule, ok := errors.AsType[*h2.ConnError](cause); ok && rule.Remote {
		text = "error reading from server: EOF" // what it said is said below
	} else if ok {
		text = "error reading from server: " + fmt.Sprintf("connection error: %v: %s", rule.Code, rule.Reason)
	}
	said := c.leave.Load()
	if said == nil {
		return text
	}
	text = fmt.Sprintf("closing transport due to: connection error: desc = %q, received prior goaway: code: %v", text, said.code)
	if said.debug != "" {
		text += fmt.Sprintf(", debug data: %q", said.debug)
	}
	return text
}

// plainly is err without the addresses that package net names, where the published module
// reads past that package: over connections of the operating system in the clear.
func (c *Client) plainly(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok && !c.secure {
		return errno
	}
	return err
}

func (s *ClientStream) abortStatus(err *h2.StreamError) *status.Status {
	switch {
	case err.Unprocessed && err.Reason != "":
		return status.New(codes.Unavailable, "the connection is draining")
	case err.Unprocessed:
		return status.New(codes.Unavailable, err.Error())
	case err.Cause != nil:
		if st, ok := status.FromError(err.Cause); ok {
			return st // of our own, given to Close
		}
		return status.New(codes.Unavailable, s.client.lostText(err.Cause))
	case !err.Remote && err.Code == frame.EnhanceYourCalm: // header lists over the limit
		return status.New(codes.Unavailable, err.Error())
	case !err.Remote:
		return status.New(codes.Internal, err.Error())
	}
	if d, ok := s.ctx.Deadline(); ok && err.Code == frame.Cancel && !time.Now().Before(d) {
		return status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return grpcwire.RSTStatus(uint32(err.Code))
}
