// SPDX-License-Identifier: Apache-2.0

package streams

// queue holds the messages of one stream that wait for room, oldest first. A nil one is empty.
type queue struct {
	list []any
	head int // list[:head] is gone
}

func (q *queue) len() int {
	if q == nil {
		return 0
	}
	return len(q.list) - q.head
}

// push moves the messages to the front where a quarter of the list is free: where the oldest is dropped
// for each that comes, as for a client that does not read, that is three copies a message at most.
func (q *queue) push(m any) {
	if len(q.list) == cap(q.list) && q.head > 0 && q.head >= len(q.list)/4 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, m)
}

// pop takes the oldest one. There is one.
func (q *queue) pop() any {
	m := q.list[q.head]
	q.list[q.head] = nil
	q.head++
	return m
}
