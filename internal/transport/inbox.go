// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"unsafe"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// inbox is the queue of messages that arrived on a stream. Most streams have one at a
// time, which needs no memory of its own.
type inbox struct {
	first grpcwire.Message // the oldest, if it has data
	rest  *backlog         // nil if there are no others
}

// backlog is the messages behind the first. Small ones lie together: else a peer that
// sends many could make us hold a multiple of their size.
type backlog struct {
	list   []queued // not empty
	places int      // of the array that list lies in
	n      int      // messages
	memory int      // bytes that all of it takes
}

// queued is a message, or a run of small ones.
type queued struct {
	grpcwire.Message
	run *grpcwire.Run
}

const (
	queuedSize  = int(unsafe.Sizeof(queued{}))
	backlogSize = int(unsafe.Sizeof(backlog{}))
)

// len is how many there are.
func (q *inbox) len() int {
	switch {
	case q.first.Data.IsZero():
		return 0
	case q.rest == nil:
		return 1
	}
	return 1 + q.rest.n
}

// held is how many bytes of memory they take.
func (q *inbox) held() int {
	if q.rest == nil {
		return int(q.first.Held)
	}
	return int(q.first.Held) + q.rest.memory
}

// push adds m. It reports whether that was copied, so that its own memory is free.
func (q *inbox) push(m grpcwire.Message) (copied bool) {
	if q.first.Data.IsZero() {
		q.first = m
		return false
	}
	if q.rest == nil {
		q.rest = &backlog{memory: backlogSize}
	}
	return q.rest.push(m)
}

func (q *inbox) pop() (grpcwire.Message, bool) {
	m := q.first
	if m.Data.IsZero() {
		return m, false
	}
	q.first = grpcwire.Message{}
	if q.rest != nil {
		q.first = q.rest.pop()
		if q.rest.n == 0 {
			q.rest = nil
		}
	}
	return m, true
}

func (q *inbox) drop() {
	for m, ok := q.pop(); ok; m, ok = q.pop() {
		m.Data.Free()
	}
}

func (b *backlog) push(m grpcwire.Message) (copied bool) {
	b.n++
	if b.pack(m) {
		return true
	}
	b.add(queued{Message: m})
	b.memory += int(m.Held)
	return false
}

// pack adds a small message to the last run, or begins one. It reports false for a message
// that is not small.
func (b *backlog) pack(m grpcwire.Message) bool {
	if k := len(b.list); k > 0 && b.list[k-1].run != nil {
		r := b.list[k-1].run
		held := r.Held()
		if r.Add(m) {
			b.memory += r.Held() - held
			return true
		}
	}
	if !grpcwire.IsSmall(m) {
		return false
	}
	r := new(grpcwire.Run)
	r.Add(m)
	b.add(queued{run: r})
	b.memory += r.Held()
	return true
}

func (b *backlog) add(e queued) {
	grows := len(b.list) == cap(b.list)
	b.list = append(b.list, e)
	if grows {
		b.memory += (cap(b.list) - b.places) * queuedSize
		b.places = cap(b.list)
	}
}

func (b *backlog) pop() grpcwire.Message {
	b.n--
	e := &b.list[0]
	m := e.Message
	if e.run == nil {
		b.memory -= int(m.Held)
	} else if m = e.run.Next(); !e.run.Empty() {
		return m
	} else {
		b.memory -= e.run.Held()
	}
	*e = queued{}
	b.list = b.list[1:]
	return m
}

// wakeReason is what the one who receives waits for.
type wakeReason uint8

const (
	wakeNone wakeReason = iota
	wakeMessage
	wakeReply // the end, or, once a batch has ended without it, a message
	wakeEnd
)

// waker wakes the one who receives on a stream: a goroutine that waits, or the owner of a
// stream that was handed over. It is used with the stream's lock held, though not during the
// wait itself.
type waker struct {
	who    handover.Waker // who waits: a sleeper or a bell for a goroutine
	reason wakeReason
}

// sleeper is a goroutine that waits for nothing else. No sync.Cond belongs to a synctest bubble, and
// no program has it: so it comes from a pool. It goes back when nobody has it: a program that is wrong
// has several goroutines receive on one stream, and other streams must not suffer from that.
type sleeper struct {
	sync.Cond     // its L is the stream's lock, which guards what follows
	n         int // between sleep and awaken
}

// Wake implements handover.Waker.
func (s *sleeper) Wake() { s.Broadcast() }

var sleepers = sync.Pool{New: func() any { return new(sleeper) }}

// bell wakes a goroutine that waits for a context, too. The channel is the stream's own from its
// first wait on: one from a pool could belong to a bubble that the stream is not in.
type bell chan struct{}

// Wake implements handover.Waker.
func (b bell) Wake() { b <- struct{}{} }

// answered reports whether a goroutine that waited for a message was woken, where before is what
// was waited for earlier.
func (w *waker) answered(before wakeReason) bool {
	if before != wakeMessage || w.reason != wakeNone {
		return false
	}
	switch w.who.(type) {
	case *sleeper, bell, *h2.Turn:
		return true
	}
	return false
}

// sleep is arm for a goroutine that waits for nothing but r, with mu, the stream's lock. awaken
// follows.
func (w *waker) sleep(r wakeReason, mu *sync.Mutex) *sleeper {
	s, ok := w.who.(*sleeper)
	if !ok {
		s = sleepers.Get().(*sleeper)
		s.L = mu
		w.who = s
	}
	s.n++
	w.reason = r
	return s
}

// awaken waits until s, which sleep returned, is woken, which may have happened.
func (w *waker) awaken(s *sleeper) {
	for w.reason != wakeNone {
		s.Wait()
	}
	s.n--
}

// retire follows awaken where nobody is likely to wait again.
func (w *waker) retire() {
	if s, ok := w.who.(*sleeper); ok && s.n == 0 {
		w.who, s.L = nil, nil
		sleepers.Put(s)
	}
}

// arm returns the channel to wait on for r.
func (w *waker) arm(r wakeReason) <-chan struct{} {
	b, ok := w.who.(bell)
	if !ok {
		b = make(bell, 1)
		w.who = b
	}
	w.reason = r
	return b
}

// disarm follows each arm, when the wait is over for whatever reason.
func (w *waker) disarm() {
	w.reason = wakeNone
	select {
	case <-w.who.(bell): // a signal came beside another reason to wake
	default:
	}
}

// call is arm for who has no goroutine: who is woken for r, once.
func (w *waker) call(who handover.Waker, r wakeReason) { w.who, w.reason = who, r }

// reply wakes whoever waits for a reply, if there is one.
func (w *waker) reply(messages int) {
	if w.reason == wakeReply && messages > 0 {
		w.reason = wakeNone
		w.who.Wake()
	}
}

// signal wakes whoever waits for what happened. messages is how many are queued. The end
// ends every wait, and a second message also a wait for the end.
func (w *waker) signal(what wakeReason, messages int) {
	if w.reason == wakeNone {
		return
	}
	if what == wakeEnd || what == w.reason || messages > 1 {
		w.reason = wakeNone
		w.who.Wake()
	}
}
