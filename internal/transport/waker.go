// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport/h2"
)

// wakeReason is what the receiver of a stream waits for.
type wakeReason uint8

const (
	wakeNone wakeReason = iota
	wakeMessage
	wakeReply // the end, or, once a batch has ended without it, a message
	wakeEnd
	wakeOver // the end alone: messages lie where they are, and no window is widened for them
)

// waker wakes the receiver of a stream: a goroutine that waits, or the owner of a stream that was handed
// over. It is used with the stream's lock held, though not during the wait itself.
type waker struct {
	who    handover.Waker // who waits: a condWaiter or a chanWaiter for a goroutine
	reason wakeReason
}

// condWaiter is a goroutine that waits for nothing else. It comes from a pool, which is safe because no
// sync.Cond belongs to a synctest bubble, and no program has a condWaiter. It goes back when no goroutine
// uses it: a faulty program has several goroutines receive on one stream, and other streams must not suffer
// from that.
type condWaiter struct {
	sync.Cond     // its L is the stream's lock, which guards what follows
	n         int // how many goroutines are between sleep and awaken
}

// Wake implements handover.Waker.
func (s *condWaiter) Wake() { s.Broadcast() }

var condWaiters = sync.Pool{New: func() any { return new(condWaiter) }}

// chanWaiter wakes a goroutine that also waits for a context. The stream keeps the channel from its first
// wait on: one from a pool could belong to a synctest bubble that the stream is not in.
type chanWaiter chan struct{}

// Wake implements handover.Waker.
func (b chanWaiter) Wake() { b <- struct{}{} }

// answered reports whether a goroutine that waited for a message was woken. before is what the receiver
// waited for earlier.
func (w *waker) answered(before wakeReason) bool {
	if before != wakeMessage || w.reason != wakeNone {
		return false
	}
	switch w.who.(type) {
	case *condWaiter, chanWaiter, *h2.InlineReader:
		return true
	}
	return false
}

// sleep is arm for a goroutine that waits for nothing but r. mu is the stream's lock. awaken must follow.
func (w *waker) sleep(r wakeReason, mu *sync.Mutex) *condWaiter {
	s, ok := w.who.(*condWaiter)
	if !ok {
		s = condWaiters.Get().(*condWaiter)
		s.L = mu
		w.who = s
	}
	s.n++
	w.reason = r
	return s
}

// awaken waits until s, which sleep returned, is woken. That may have happened already.
func (w *waker) awaken(s *condWaiter) {
	for w.reason != wakeNone {
		s.Wait()
	}
	s.n--
}

// retire is called after awaken if nobody is likely to wait again.
func (w *waker) retire() {
	if s, ok := w.who.(*condWaiter); ok && s.n == 0 {
		w.who, s.L = nil, nil
		condWaiters.Put(s)
	}
}

// arm returns the channel to wait on for r.
func (w *waker) arm(r wakeReason) <-chan struct{} {
	b, ok := w.who.(chanWaiter)
	if !ok {
		b = make(chanWaiter, 1)
		w.who = b
	}
	w.reason = r
	return b
}

// disarm is called after each arm, when the wait is over for whatever reason.
func (w *waker) disarm() {
	b, ok := w.who.(chanWaiter)
	if !ok { // call has replaced it, and the reason is another's
		return
	}
	w.reason = wakeNone
	select {
	case <-b: // a signal came together with another reason to wake
	default:
	}
}

// call is arm for an owner without a goroutine: who is woken for r, once.
func (w *waker) call(who handover.Waker, r wakeReason) { w.who, w.reason = who, r }

// reply wakes the receiver if it waits for a reply and there is one.
func (w *waker) reply(messages int) {
	if w.reason == wakeReply && messages > 0 {
		w.reason = wakeNone
		w.who.Wake()
	}
}

// signal wakes the receiver if it waits for what. messages is how many are queued. The end ends every wait.
// A second message also ends a wait for the end, unless that is for the end alone.
func (w *waker) signal(what wakeReason, messages int) {
	if w.reason == wakeNone {
		return
	}
	if what == wakeEnd || what == w.reason || messages > 1 && w.reason != wakeOver {
		w.reason = wakeNone
		w.who.Wake()
	}
}
