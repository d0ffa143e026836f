// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// overBudget reports whether the peer has made us hold so much that we had
// better not read on; opening says that it wants to open a stream, and so to be
// sent more.
func (c *locked) overBudget(opening bool) bool {
	if c.life.mute {
		return false // nothing is held that would ever be sent
	}
	return c.out.full(c.streams.open(), opening)
}

// waitForBudget lets what the peer caused drain away before reading goes on.
// Where the peer is opening stream id, not 0, it also waits for a handler to return
// if there are too many: for a moment only, once until one does, and it refuses the
// stream if none does. Handlers may wait for what is still to be read, and a PING
// behind it asks whether we live.
func (r *reader) waitForBudget(id uint32) error {
	opening := id != 0
	r.endBatch()
	var late <-chan time.Time // nil: there is no wait for handlers, or not yet
	for {
		c := r.lock()
		if c.life.dead() {
			defer c.unlock()
			return c.end.cause
		}
		crowded := opening && c.streams.isCrowded()
		hopeless := c.streams.handlers.hopeless
		if !c.overBudget(opening) && (!crowded || hopeless) {
			c.unlock()
			r.resume()
			if crowded {
				r.in.act.nonsense.useful() // that it is refused is our doing
				return frame.StreamError(id, frame.RefusedStream, "too many handlers still run")
			}
			return nil
		}
		if crowded && late == nil && !hopeless {
			t := time.NewTimer(handlerPatience)
			defer t.Stop()
			late = t.C
		}
		w := r.block(c)
		c.unlock()
		select {
		case <-w:
		case <-late:
			late = nil
			c := r.lock()
			if c.blocked != nil {
				c.blocked = nil
				c.streams.handlers.hopeless = c.streams.isCrowded()
			} else {
				<-w // somebody was faster
			}
			c.unlock()
		}
	}
}

// block returns what wakeReader is heard on.
func (r *reader) block(c *locked) <-chan struct{} {
	if r.in.act.wake == nil {
		r.in.act.wake = make(chan struct{}, 1)
	}
	c.blocked = r.in.act.wake
	return c.blocked
}

// bankruptcy ends a connection that holds too much.
func (r *reader) bankruptcy() error {
	c := r.lock()
	defer c.unlock()
	r.enter(c)
	if r.audit(c); !r.in.act.broke {
		return nil
	}
	return errBankrupt(c.account.held, c.cfg.maxHeld())
}
