// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"io"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Send sends a message; last says that no other follows. It waits while too many bytes of earlier messages
// are queued (h2.Stream.Offer). The error is io.EOF if the stream is over: Recv and Status tell why.
func (s *ClientStream) Send(p Payload, last bool) error {
	if p.Lent != nil {
		defer func() { s.h2.Reclaim(p.Lent, s.ctx.Done()) }()
	}
	f := p.frames()
	f.End = last
	for {
		room, err := s.h2.Offer(&f)
		if room == nil {
			return s.sent(last, err)
		}
		select {
		case <-room:
		case <-s.done():
			p.Data.Free()
			s.Cancel(s.ctx.Err())
			return io.EOF
		}
	}
}

// Enqueue is Send without a wait, for callers that bound what they queue by other means.
func (s *ClientStream) Enqueue(p Payload, last bool) error {
	f := p.frames()
	f.End = last
	return s.sent(last, s.h2.Send(f))
}

// sent is called after the connection took a message, or refused it.
func (s *ClientStream) sent(last bool, err error) error {
	s.sentEnd = last
	if err != nil {
		return io.EOF
	}
	s.client.traffic().messageSent()
	return nil
}

// Reclaim gives back the memory that was lent with the message that opened the stream.
func (s *ClientStream) Reclaim(b *Borrowed) { s.h2.Reclaim(b, noWait) }

// noWait is a closed channel, for a Reclaim that does not wait.
var noWait = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

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
// ended. When the context is done the stream is cancelled.
func (s *ClientStream) Recv() (grpcwire.Message, error) {
	s.mu.Lock()
	for {
		if m, ok := s.inbox.pop(); ok {
			over, freed := s.over, -s.change()
			s.mu.Unlock()
			if !over {
				s.h2.Consume(s.taken(grpcwire.PrefixLen+m.Len, freed))
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

// AwaitReply waits until the stream is over, or until a message has arrived and the reader has dealt with
// the rest of its batch. If a call has one reply, the end mostly comes in that batch, so that the caller is
// woken once and not twice. If it does not, the caller can look at the reply before the end.
func (s *ClientStream) AwaitReply() {
	s.mu.Lock()
	for !s.over && s.inbox.len() == 0 {
		s.await(wakeReply)
	}
	s.mu.Unlock()
}

// tellReply wakes the caller if it waits for a reply, which has arrived.
func (s *ClientStream) tellReply() {
	s.mu.Lock()
	s.wake.reply(s.inbox.len())
	s.mu.Unlock()
}

// AwaitEnd waits until the stream is over, or has brought more than one message. After it Recv does not
// wait, if the call may have one reply only.
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
		s.waitFor(ch)
		s.mu.Lock()
	}
	h := s.headers
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.fields().md()
}

// await waits until what may have happened. The caller holds mu before and after, not during the wait. If
// the context ends first, await cancels the stream.
func (s *ClientStream) await(what wakeReason) {
	if s.done() == nil {
		s.body.await(what, &s.mu, &s.h2)
		if s.over || what != wakeMessage {
			s.wake.retire()
		}
		return
	}
	ch := s.wake.arm(what)
	expect, freed := s.expect(), s.rest()
	s.mu.Unlock()
	s.h2.Expect(expect, freed)
	s.waitFor(ch)
	s.mu.Lock()
	s.wake.disarm()
}

// done returns a channel that a wait also has to look at, or nil if there is none. The end of the stream
// ends every wait.
func (s *ClientStream) done() <-chan struct{} {
	if s.watched {
		return nil
	}
	return s.ctx.Done()
}

// waitFor waits for ch, or cancels the stream because the context has ended. A plain wait
// costs a third of a select, and half its memory.
func (s *ClientStream) waitFor(ch <-chan struct{}) {
	done := s.done()
	if done == nil {
		<-ch
		return
	}
	select {
	case <-ch:
	case <-done:
		s.Cancel(s.ctx.Err())
	}
}

// Cancel ends the stream, if its end has not come, with the status that err, an error of a context, stands for.
func (s *ClientStream) Cancel(err error) { s.End(status.FromContextError(err)) }

// End ends the stream with st, if its end has not come. Messages that have arrived whole can still be taken.
func (s *ClientStream) End(st *status.Status) {
	s.mu.Lock()
	first := s.endLocked(nil, st, lostMaybeSeen)
	if first && !s.filling {
		s.asm.Abort()
	}
	s.closed = true
	s.inbox.unpool()
	s.mu.Unlock()
	if first {
		s.h2.Reset(frame.Cancel)
	}
}

// Fail ends the stream, if there is more to receive, with st. It drops messages that have arrived.
func (s *ClientStream) Fail(st *status.Status) {
	s.mu.Lock()
	first := s.endLocked(nil, st, lostMaybeSeen)
	if !first && s.inbox.len() > 0 {
		s.status = st // in place of the end, which is dropped with the messages before it
	}
	if first || s.inbox.len() > 0 {
		s.close()
	}
	s.mu.Unlock()
	if first {
		s.h2.Reset(frame.Cancel)
	}
}

// endLocked makes the stream's end known, once. It reports whether this call did so.
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

// headersKnown wakes the goroutines that wait for the response headers.
func (s *ClientStream) headersKnown() {
	if s.gotHeaders != nil {
		close(s.gotHeaders)
		s.gotHeaders = nil
	}
}

// Status returns how the stream ended; nil stands for OK. It is meant to be called after Recv has returned
// io.EOF.
func (s *ClientStream) Status() *status.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Trailer returns what the application may see of the trailers; empty if there were none.
func (s *ClientStream) Trailer() metadata.MD {
	s.mu.Lock()
	t := s.trailers
	s.mu.Unlock()
	if t == nil {
		return metadata.MD{} // not nil, because programs write to it
	}
	return t.fields().md()
}

// TrailersOnly reports whether the reply was a single block of headers: trailers without headers before
// them.
func (s *ClientStream) TrailersOnly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trailers != nil && s.headers == nil
}

// GotTrailers reports whether the reply's trailers have arrived.
func (s *ClientStream) GotTrailers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trailers != nil
}

// Unprocessed reports whether the stream is over and the peer certainly did nothing for it.
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

// RecvCompress returns the encoding of the messages that are received. It does not change once the stream
// is over.
func (s *ClientStream) RecvCompress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headers == nil {
		return ""
	}
	return s.headers.encoding
}

// HeaderWireLength returns the size of the received header block as HPACK coded it, or 0 before it has arrived.
func (s *ClientStream) HeaderWireLength() int {
	return s.blockSize(func() *response { return s.headers })
}

// TrailerWireLength returns the size of the received trailers as HPACK coded them, or 0 before they have arrived.
func (s *ClientStream) TrailerWireLength() int {
	return s.blockSize(func() *response { return s.trailers })
}

func (s *ClientStream) blockSize(of func() *response) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := of(); r != nil {
		return int(r.size)
	}
	return 0
}

// Client returns the connection that carries the stream.
func (s *ClientStream) Client() *Client { return s.client }

// Context returns the context with which the stream was started.
func (s *ClientStream) Context() context.Context { return s.ctx }
