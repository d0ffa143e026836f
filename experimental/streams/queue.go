// SPDX-License-Identifier: Apache-2.0

package streams

// queue holds the messages of one stream that wait for room, oldest first. A nil queue is empty.
type queue struct {
	list []any
	head int // list[:head] has been taken
}

func (q *queue) len() int {
	if q == nil {
		return 0
	}
	return len(q.list) - q.head
}

// push moves the messages to the front of the list if a quarter of it is free. If each new message makes the
// oldest one go, as for a client that does not read, that costs at most three copies a message.
func (q *queue) push(m any) {
	if len(q.list) == cap(q.list) && q.head > 0 && q.head >= len(q.list)/4 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, m)
}

// pop takes the oldest message. The queue must not be empty.
func (q *queue) pop() any {
	m := q.list[q.head]
	q.list[q.head] = nil
	q.head++
	return m
}
