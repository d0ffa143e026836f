// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"
)

const (
	// maxQueued is the number of bytes in a queue from which on the RPC takes no new messages of
	// that direction. The server returns those that it has got nevertheless.
	maxQueued = 64 << 10
	// maxReturned is the number from which on the filter stops reading the stream to the server,
	// unless a goroutine waits for the server.
	maxReturned = 4 << 20
	// maxHeld is the number from which on the server has failed. A server that returns what it gets
	// does not come near it: flow control lets 16 MiB be on the way to it, and as much on the way back.
	maxHeld = 64 << 20
)

var errTooMuch = errors.New("the external processor returned more than the RPC can take")

// item is a message with which the RPC goes on, or the end of the client's messages.
type item struct {
	body    []byte        // the serialized message that the server returned, if message is nil
	message proto.Message // the original message, or nil
	nothing bool          // there is no message, only the end
	last    bool          // this is the last item
}

// queue has the items of one direction. newQueue makes one.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	items   []item
	bytes   int
	waiting int // the number of goroutines that wait for the server
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

// put waits for room and adds an item. If the queue is closed, it adds nothing and returns
// false.
func (q *queue) put(i item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitRoom()
	if q.closed {
		return false
	}
	q.add(i)
	return true
}

// room waits for room, or until the queue is closed.
func (q *queue) room() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitRoom()
}

func (q *queue) awaitRoom() {
	for q.bytes >= maxQueued && !q.closed {
		q.changed.Wait()
	}
}

// accept adds an item that the server has returned, unless the queue is closed. As long as a
// goroutine waits for the server, accept does not wait for room: the server may be unable to take
// an event, or to answer one, before its other responses have been read, and the RPC's own server
// unable to take messages before its responses have been read, which wait for that event.
func (q *queue) accept(i item) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes >= maxReturned && q.waiting == 0 && !q.closed {
		q.changed.Wait()
	}
	switch {
	case q.closed:
		return nil
	case q.bytes >= maxHeld:
		return errTooMuch
	}
	q.add(i)
	return nil
}

func (q *queue) add(i item) {
	q.items = append(q.items, i)
	q.bytes += i.size()
	q.changed.Broadcast()
}

// waits notes that n more goroutines wait for the server.
func (q *queue) waits(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting += n; n > 0 && q.bytes >= maxReturned {
		q.changed.Broadcast()
	}
}

// get waits for an item. It returns false when the queue is closed and empty.
func (q *queue) get() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.items) == 0 {
		return item{}, false
	}
	i := q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.bytes -= i.size()
	q.changed.Broadcast()
	return i, true
}

// close closes the queue: put adds nothing any more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// overhead is the size that an item counts in addition to its message.
const overhead = 256

func (i *item) size() int {
	if i.message != nil {
		return overhead + proto.Size(i.message)
	}
	return overhead + len(i.body)
}
