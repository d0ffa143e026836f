// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math"
	"sync"
	"time"
	"weak"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// endWaits are the streams of a server whose handlers have returned before everything was sent. If
// ServerConfig.EndWait is set, and a client reads nothing of such a stream for that long, the stream is
// reset.
//
// The list does not keep a stream that is over: it has weak pointers, and the connections hold the streams
// that are open. The list has at most twice as many places as there are open streams, and some more, so
// that a client can't lengthen it by streams that it begins and ends.
type endWaits struct {
	mu    sync.Mutex
	wait  time.Duration // what the server allows for; set by add
	list  []endWait     // in the order of due
	full  int           // how long it may be before the streams that are over are taken out
	timer *time.Timer   // nil: there was none so far
	armed bool          // the timer runs
}

// endWait is one stream.
type endWait struct {
	stream weak.Pointer[ServerStream]
	left   int   // bytes that were not sent when the wait began
	due    int64 // when it ends, by the clock
}

const fewEndWaits = 64

// boundEnd bounds how long the client may read nothing. It is called after the end of a call's handler.
func (s *ServerStream) boundEnd() {
	host := s.server.host
	if host.EndWait <= 0 {
		return
	}
	if left, open := s.h2.Unsent(); open {
		host.ends.add(s, left, min(host.EndWait, math.MaxInt64/2))
	}
}

// add begins a wait. All of a server's streams wait for the same time.
func (e *endWaits) add(s *ServerStream, left int, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) >= max(e.full, fewEndWaits) {
		e.sweepLocked()
	}
	e.wait = wait
	e.list = append(e.list, endWait{weak.Make(s), left, clock.Now() + int64(wait)})
	e.armLocked()
}

// sweepLocked takes out the streams that are over.
func (e *endWaits) sweepLocked() {
	open := make([]endWait, 0, fewEndWaits)
	for _, w := range e.list {
		if s := w.stream.Value(); s != nil && s.isOpen() {
			open = append(open, w)
		}
	}
	e.list, e.full = open, 2*len(open)
}

// isOpen reports whether something may still be sent.
func (s *ServerStream) isOpen() bool {
	_, open := s.h2.Unsent()
	return open
}

// armLocked makes the timer wait for the first stream of the list.
func (e *endWaits) armLocked() {
	if e.armed || len(e.list) == 0 {
		return
	}
	e.armed = true
	d := time.Duration(max(e.list[0].due-clock.Now(), 0))
	if e.timer == nil {
		e.timer = time.AfterFunc(d, e.passed)
	} else {
		e.timer.Reset(d)
	}
}

// passed resets the streams whose time has come and of which nothing was read.
func (e *endWaits) passed() {
	for _, streams := range e.late() {
		go func() { // the write may wait, and the other connections must not
			for _, s := range streams {
				s.h2.Reset(frame.Cancel)
			}
		}()
	}
}

// late takes the streams whose time has come off the list, and returns those to reset, by connection.
func (e *endWaits) late() map[*Server][]*ServerStream {
	late := make(map[*Server][]*ServerStream)
	e.mu.Lock()
	defer e.mu.Unlock()
	now, n := clock.Now(), 0
	for ; n < len(e.list) && e.list[n].due <= now; n++ {
		w := e.list[n]
		s := w.stream.Value()
		if s == nil {
			continue
		}
		switch left, open := s.h2.Unsent(); {
		case !open:
		case left < w.left:
			e.list = append(e.list, endWait{w.stream, left, now + int64(e.wait)})
		default:
			late[s.server] = append(late[s.server], s)
		}
	}
	if e.list = e.list[n:]; len(e.list) == 0 {
		e.list = nil
	}
	e.armed = false
	e.armLocked()
	return late
}
