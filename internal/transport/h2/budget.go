// SPDX-License-Identifier: Apache-2.0

package h2

// overBudget reports whether the peer has made us hold so much that we had
// better not read on; place asks whether there also is no place for a stream it
// wants to open.
func (c *Conn) overBudget(place bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overBudgetLocked(place)
}

func (c *Conn) overBudgetLocked(place bool) bool {
	if c.mute {
		return false // nothing is held that would ever be sent
	}
	return c.replies > maxReplies || int(c.updates) > maxUpdates+updatesPerStream*c.table.open() ||
		c.zombies > maxZombies ||
		place && uint64(c.table.peer)+uint64(c.zombies) >= uint64(c.table.maxPeer)
}

// waitForBudget lets what the peer caused drain away before reading goes on.
func (c *Conn) waitForBudget(place bool) error {
	c.endBatch()
	for {
		c.mu.Lock()
		if c.dead {
			defer c.mu.Unlock()
			return c.end.cause
		}
		if !c.overBudgetLocked(place) {
			c.mu.Unlock()
			c.resume()
			return nil
		}
		if c.act.wait == nil {
			c.act.wait = make(chan struct{}, 1)
		}
		c.blocked = true
		w := c.act.wait
		c.mu.Unlock()
		<-w
	}
}

// wakeReaderLocked ends waitForBudget's wait, so that it looks again.
func (c *Conn) wakeReaderLocked() {
	if c.blocked {
		c.blocked = false
		c.act.wait <- struct{}{}
	}
}
