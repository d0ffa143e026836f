// SPDX-License-Identifier: Apache-2.0

package grpc

// add puts a stream in the list. It returns false after cancelAll.
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
