// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"sync"

	"google.golang.org/protobuf/proto"
)

// maxQueued is the number of bytes in a queue from which on put blocks.
const maxQueued = 64 << 10

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
	for q.bytes >= maxQueued && !q.closed {
		q.changed.Wait()
	}
	if q.closed {
		return false
	}
	q.items = append(q.items, i)
	q.bytes += i.size()
	q.changed.Broadcast()
	return true
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
