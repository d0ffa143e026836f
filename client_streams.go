// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"sync"
)

// streamList holds the streams that are open, so that closing the channel ends them.
type streamList struct {
	mu     sync.Mutex
	first  *streamNode
	closed bool
}

// streamNode is a stream's place in the list, which is a part of it.
type streamNode struct {
	stream     interface{ abort(error) }
	next, prev *streamNode
}

// add returns false after cancelAll.
func (l *streamList) add(n *streamNode) bool {
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

func (l *streamList) remove(n *streamNode) {
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
	var all []*streamNode
	for n := l.first; n != nil; n = n.next {
		all = append(all, n)
	}
	l.mu.Unlock()
	for _, n := range all {
		n.stream.abort(err)
	}
}
