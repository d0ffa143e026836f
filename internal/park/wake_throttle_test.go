// SPDX-License-Identifier: Apache-2.0

package park

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// manyOwners is many connections, which are woken one after the other.
type manyOwners struct {
	wg      sync.WaitGroup
	queued  atomic.Int32 // woken, and have not run
	most    int32        // of them at a time
	blocked chan struct{}
}

func (c *manyOwners) RawConn() syscall.RawConn { return nil }

func (c *manyOwners) Run() {}

func (c *manyOwners) Wake() {
	c.most = max(c.most, c.queued.Add(1))
	c.wg.Go(func() {
		c.queued.Add(-1)
		if c.blocked != nil {
			<-c.blocked
		}
	})
}

// In a burst those that were woken run before many more are, and nobody waits for what they do.
func TestWakeThrottle(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const batches = 100
	for name, blocked := range map[string]chan struct{}{"that run": nil, "that block": make(chan struct{})} {
		t.Run(name, func(t *testing.T) {
			c := &manyOwners{blocked: blocked}
			var throttle wakeThrottle
			for i := range batches * batch {
				throttle.wake(c, 1+i%2) // alone, or with another that somebody else has woken
			}
			// The race detector's scheduler changes the order: not all batches are waited for.
			if c.most > 16*batch {
				t.Errorf("%d of %d were awake at a time", c.most, batches*batch)
			}
			if blocked != nil {
				close(blocked)
			}
			c.wg.Wait()
		})
	}
}
