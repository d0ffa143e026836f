// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"sync"

	"google.golang.org/protobuf/proto"
)

// maxQueued is how many bytes wait in a queue before it holds up whoever puts more.
const maxQueued = 64 << 10

// item is a message that goes on, or the end of what a client sends.
type item struct {
	body    []byte        // serialized, as the server returned it
	message proto.Message // or as it came; nil: body counts
	nothing bool          // there is no message
	last    bool          // nothing comes after it
}

// queue is what goes on in one direction. It is made by newQueue.
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

// put waits for room. It returns false, and takes nothing, once the queue is closed.
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

// get waits for an item. It returns false when the queue is closed, and empty.
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

// close takes no more items.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// overhead is what an item is counted with beside its message.
const overhead = 256

func (i *item) size() int {
	if i.message != nil {
		return overhead + proto.Size(i.message)
	}
	return overhead + len(i.body)
}
