// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// overBudget reports whether the peer has made us queue so much that nothing more should
// be read before some of it is written; opening says that it wants to open a stream, and
// so to be sent more.
func (c *locked) overBudget(opening bool) bool {
	if c.life.mute {
		return false // nothing will be written, so there is nothing to wait for
	}
	return c.out.full(c.streams.open(), opening)
}

// waitForBudget waits until enough of what the peer made us queue is written. Where the
// peer is opening stream id, not 0, and too many handlers run, it also waits for one to
// return, for handlerPatience at most, and refuses the stream if none does: handlers may
// themselves wait for input that is still to be read, and so may a peer for the answer to
// a PING. After a wait in vain there is no other until a handler has returned.
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
		crowded := opening && c.streams.isCrowded(c.out.cfg.maxStreams())
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
			if c.streams.handlers.blocked {
				c.streams.handlers.blocked = false
				c.streams.handlers.hopeless = c.streams.isCrowded(c.out.cfg.maxStreams())
			} else {
				<-w // wakeReader came first
			}
			c.unlock()
		}
	}
}

// block returns the channel on which wakeReader will wake the reader.
func (r *reader) block(c *locked) <-chan struct{} {
	if r.in.act.wake == nil {
		r.in.act.wake = make(chan struct{}, 1)
	}
	c.streams.handlers.blocked = true
	return r.in.act.wake
}

// bankruptcy ends a connection that holds too much.
func (r *reader) bankruptcy() error {
	c := r.lock()
	defer c.unlock()
	r.enter(c)
	if r.audit(c); !r.in.act.broke {
		return nil
	}
	return errBankrupt(c.account.held, c.out.cfg.maxHeld())
}
