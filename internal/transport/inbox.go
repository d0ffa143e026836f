// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"unsafe"

	"google.golang.org/grpc/internal/transport/grpcwire"
)

// inbox is the queue of messages that arrived on a stream. Most streams have one at a
// time, which needs no memory of its own.
type inbox struct {
	first grpcwire.Message // the oldest, if it has data
	rest  *backlog         // nil if there are no others
}

// backlog has the messages behind the first. Small ones are packed together: otherwise a peer that sends
// many could make us hold a multiple of their size.
type backlog struct {
	list   []queued // not empty
	places int      // capacity of the array that list lies in
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

// len returns how many messages there are.
func (q *inbox) len() int {
	switch {
	case q.first.Data.IsZero():
		return 0
	case q.rest == nil:
		return 1
	}
	return 1 + q.rest.n
}

// held returns how many bytes of memory they take.
func (q *inbox) held() int {
	if q.rest == nil {
		return int(q.first.Held)
	}
	return int(q.first.Held) + q.rest.memory
}

// push adds m. It reports whether it has copied m, so that the memory of m is free.
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

// takeSmall adds the small messages at the beginning of p, if there is a message before them in the inbox.
// It returns how many bytes of p, and how many messages, it has added.
func (q *inbox) takeSmall(asm *grpcwire.Assembler, p []byte) (n, messages int) {
	if q.first.Data.IsZero() || !asm.SmallNext(p) {
		return 0, 0
	}
	if q.rest == nil {
		q.rest = &backlog{memory: backlogSize}
	}
	return q.rest.takeSmall(asm, p)
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

// drop frees all messages. Small ones, of which there may be very many, belong to no pool: it skips them.
func (q *inbox) drop() {
	if !q.first.Data.IsZero() {
		q.first.Data.Free()
	}
	if q.rest != nil {
		for i := range q.rest.list {
			if e := &q.rest.list[i]; e.run == nil {
				e.Data.Free()
			}
		}
	}
	*q = inbox{}
}

// unpool gives the memory of all messages back to its pools: the program may take the messages later, or never.
func (q *inbox) unpool() {
	if !q.first.Data.IsZero() {
		q.first = q.first.Unpooled()
	}
	if q.rest != nil {
		for i := range q.rest.list {
			if e := &q.rest.list[i]; e.run == nil {
				e.Message = e.Unpooled()
			}
		}
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

// takeSmall adds the small messages at the beginning of p, of which there is at least one, to the last run.
// If that has no room, it adds them to a new one.
func (b *backlog) takeSmall(asm *grpcwire.Assembler, p []byte) (n, messages int) {
	if k := len(b.list); k > 0 && b.list[k-1].run != nil {
		r := b.list[k-1].run
		held := r.Held()
		n, messages = asm.TakeSmall(p, r)
		b.memory += r.Held() - held
	}
	if messages == 0 {
		r := new(grpcwire.Run)
		n, messages = asm.TakeSmall(p, r)
		b.add(queued{run: r})
		b.memory += r.Held()
	}
	b.n += messages
	return n, messages
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
