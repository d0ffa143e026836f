// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"sync"
)

// streamList holds the streams that are open, so that closing the channel ends them.
type streamList struct {
	mu     sync.Mutex
	first  *clientStream
	closed bool
}

// add returns false after cancelAll.
func (l *streamList) add(cs *clientStream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if cs.next = l.first; cs.next != nil {
		cs.next.prev = cs
	}
	l.first = cs
	return true
}

func (l *streamList) remove(cs *clientStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case cs.prev != nil:
		cs.prev.next = cs.next
	case l.first == cs:
		l.first = cs.next
	}
	if cs.next != nil {
		cs.next.prev = cs.prev
	}
	cs.next, cs.prev = nil, nil
}

// cancelAll ends all streams, and lets no other begin.
func (l *streamList) cancelAll() {
	l.mu.Lock()
	l.closed = true
	var all []*clientStream
	for cs := l.first; cs != nil; cs = cs.next {
		all = append(all, cs)
	}
	l.mu.Unlock()
	for _, cs := range all {
		cs.abort(ErrClientConnClosing)
	}
}
