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
func (l *streamList) add(n *clientStream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if n.next = l.first; n.next != nil {
		n.next.prev = n
	}
	l.first = n
	return true
}

func (l *streamList) remove(n *clientStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case l.first == n:
		l.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.next, n.prev = nil, nil
}

// cancelAll ends all streams with err, and lets no other begin.
func (l *streamList) cancelAll(err error) {
	l.mu.Lock()
	l.closed = true
	var all []*clientStream
	for n := l.first; n != nil; n = n.next {
		all = append(all, n)
	}
	l.mu.Unlock()
	for _, n := range all {
		n.abort(err)
	}
}
