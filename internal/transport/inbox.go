// SPDX-License-Identifier: Apache-2.0

package transport

import "google.golang.org/grpc/internal/transport/grpcwire"

// inbox is the queue of messages that arrived on a stream. Most streams have
// one at a time, which needs no memory of its own.
type inbox struct {
	first grpcwire.Message // the oldest, if it has data
	rest  []grpcwire.Message
}

func (q *inbox) len() int {
	if q.first.Data == nil {
		return 0
	}
	return 1 + len(q.rest)
}

func (q *inbox) push(m grpcwire.Message) {
	if q.first.Data == nil {
		q.first = m
		return
	}
	q.rest = append(q.rest, m)
}

func (q *inbox) pop() (grpcwire.Message, bool) {
	m := q.first
	if m.Data == nil {
		return m, false
	}
	q.first = grpcwire.Message{}
	if len(q.rest) > 0 {
		q.first = q.rest[0]
		q.rest[0] = grpcwire.Message{}
		if q.rest = q.rest[1:]; len(q.rest) == 0 {
			q.rest = nil
		}
	}
	return m, true
}

// size is how many bytes the messages have.
func (q *inbox) size() int {
	n := q.first.Len
	for i := range q.rest {
		n += q.rest[i].Len
	}
	return n
}

func (q *inbox) drop() {
	for m, ok := q.pop(); ok; m, ok = q.pop() {
		m.Data.Free()
	}
}

// wakeReason is what the one who receives waits for.
type wakeReason uint8

const (
	wakeNone wakeReason = iota
	wakeMessage
	wakeEnd
)

// waker wakes the goroutine that receives on a stream; there is one at a time.
// It is used with the stream's lock held, but for the wait itself. The channel
// is the stream's own from its first wait on: one from a pool could belong to a
// synctest bubble that the stream is not in.
type waker struct {
	ch     chan struct{}
	reason wakeReason
}

// arm returns the channel to wait on for r.
func (w *waker) arm(r wakeReason) <-chan struct{} {
	if w.ch == nil {
		w.ch = make(chan struct{}, 1)
	}
	w.reason = r
	return w.ch
}

// disarm follows each arm, when the wait is over for whatever reason.
func (w *waker) disarm() {
	w.reason = wakeNone
	select {
	case <-w.ch: // a signal came beside another reason to wake
	default:
	}
}

// signal wakes who waits for what happened. messages is how many are queued:
// the end wakes everyone, a second message also who waits for the end.
func (w *waker) signal(what wakeReason, messages int) {
	if w.reason == wakeNone {
		return
	}
	if what == wakeEnd || what == w.reason || messages > 1 {
		w.reason = wakeNone
		w.ch <- struct{}{}
	}
}
