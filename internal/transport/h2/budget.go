// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// overBudget reports whether the peer has made us hold so much that we had
// better not read on; opening says that it wants to open a stream, and so to be
// sent more.
func (c *Conn) overBudget(opening bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overBudgetLocked(opening)
}

func (c *Conn) overBudgetLocked(opening bool) bool {
	if c.mute {
		return false // nothing is held that would ever be sent
	}
	return c.replies > maxReplies || int(c.updates) > maxUpdates+updatesPerStream*c.table.open() ||
		opening && len(c.out.b) > maxOutput
}

// crowded reports whether so many handlers run that no other may begin. mu is
// held.
func (c *Conn) crowded() bool {
	return c.zombies > maxZombies || uint64(c.table.peer)+uint64(c.zombies) >= uint64(c.table.maxPeer)
}

// waitForBudget lets what the peer caused drain away before reading goes on.
// Where the peer is opening stream id, not 0, it also waits for a handler to return
// if there are too many: for a moment only, once until one does, and it refuses the
// stream if none does. Handlers may wait for what is still to be read, and a PING
// behind it asks whether we live.
func (c *Conn) waitForBudget(id uint32) error {
	opening := id != 0
	c.endBatch()
	var late <-chan time.Time // nil: there is no wait for handlers, or not yet
	for {
		c.mu.Lock()
		if c.dead {
			defer c.mu.Unlock()
			return c.end.cause
		}
		crowded := opening && c.crowded()
		if !c.overBudgetLocked(opening) && (!crowded || c.hopeless) {
			c.mu.Unlock()
			c.resume()
			if crowded {
				c.act.nonsense.useful() // that it is refused is our doing
				return frame.StreamError(id, frame.RefusedStream, "too many handlers still run")
			}
			return nil
		}
		if crowded && late == nil && !c.hopeless {
			t := time.NewTimer(handlerPatience)
			defer t.Stop()
			late = t.C
		}
		if c.act.wait == nil {
			c.act.wait = make(chan struct{}, 1)
		}
		c.blocked = true
		w := c.act.wait
		c.mu.Unlock()
		select {
		case <-w:
		case <-late:
			late = nil
			c.mu.Lock()
			if c.blocked {
				c.blocked, c.hopeless = false, c.crowded()
			} else {
				<-w // somebody was faster
			}
			c.mu.Unlock()
		}
	}
}

// wakeReaderLocked ends waitForBudget's wait, so that it looks again.
func (c *Conn) wakeReaderLocked() {
	if c.blocked {
		c.blocked = false
		c.act.wait <- struct{}{}
	}
}
