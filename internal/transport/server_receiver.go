// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"runtime"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/status"
)

// serverReceiver is the ServerStream as the receiver of what arrives.
type serverReceiver ServerStream

var _ h2.Receiver = (*serverReceiver)(nil)

// OnHeaders implements h2.Receiver. These are trailers of a client: gRPC has no use for them, but they have
// to obey the rules.
func (r *serverReceiver) OnHeaders(b *h2.HeaderBlock, end bool) error {
	if !end {
		return malformed("field block in the middle of a body")
	}
	if err := checkTrailers(b); err != nil {
		return err
	}
	return r.OnEnd()
}

// Space implements h2.Receiver.
func (r *serverReceiver) Space(n, ahead int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.space(n, ahead)
}

// Take implements h2.Receiver.
func (r *serverReceiver) Take(p []byte, ahead, rest int) (grew int, err error) {
	return r.arrived(piece{p, len(p), ahead, rest})
}

// Filled implements h2.Receiver.
func (r *serverReceiver) Filled(n int) (grew int, err error) { return r.arrived(piece{n: n}) }

func (r *serverReceiver) arrived(p piece) (grew int, err error) {
	s := (*ServerStream)(r)
	s.mu.Lock()
	s.fed = true
	if err := s.cold().length.arrived(p.n); err != nil {
		s.filling = false
		s.mu.Unlock()
		return 0, err
	}
	before := s.wake.reason
	expect, err := s.take(p, s.server.traffic())
	if err != nil {
		// The handler answers with the status; the assembler gives scratch
		// space for the rest of the body.
		s.endBody(err)
	}
	grew = s.change()
	yields := s.piles(p.n)
	answered := s.wake.answered(before)
	s.mu.Unlock()
	if answered {
		s.h2.Lend()
	}
	s.h2.Expect(expect, 0)
	if yields {
		runtime.Gosched()
	}
	return grew, nil
}

// OnEnd implements h2.Receiver.
func (r *serverReceiver) OnEnd() error {
	s := (*ServerStream)(r)
	s.mu.Lock()
	if err := s.cold().length.over(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.endBody(s.end())
	s.mu.Unlock()
	s.start()
	return nil
}

// endBody says that no message follows. err says what is wrong, if something is. mu is held.
func (s *ServerStream) endBody(err error) {
	if s.cold().bodyErr == nil && err != nil {
		s.mutableCold().bodyErr = status.Convert(err)
	}
	s.ended = true
	s.wake.signal(wakeEnd, 0)
}

// OnAbort implements h2.Receiver.
func (r *serverReceiver) OnAbort(err *h2.StreamError) {
	s := (*ServerStream)(r)
	s.server.traffic().streamFailed(err)
	s.mu.Lock()
	s.stranded = err.Cause != nil
	derived := s.asContext().cancelLocked(cancelled)
	s.close()
	freed := -s.change()
	s.mu.Unlock()
	derived.now()
	s.h2.Refund(freed)
}
