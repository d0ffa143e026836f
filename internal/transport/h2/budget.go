// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// waitForBudget waits until enough of what the peer made us queue is written. Where the
// peer is opening stream id, not 0, and too many handlers run, it also waits for one to
// return, for handlerPatience at most, and refuses the stream if none does: handlers may
// themselves wait for input that is still to be read, and so may a peer for the answer to
// a PING. After a wait that timed out there is no other until a handler has returned.
func (r *reader) waitForBudget(id uint32) error {
	opening := id != 0
	r.endBatch()
	var late <-chan time.Time // nil: there is no wait for handlers, or not yet
	for {
		c := r.lock()
		if c.core.IsDead() {
			defer c.unlock()
			return c.core.Cause()
		}
		crowded := opening && c.core.IsCrowded()
		hopeless := c.core.IsHopeless()
		if !c.core.OverBudget(opening) && (!crowded || hopeless) {
			c.unlock()
			r.resume()
			if crowded {
				r.in.act.Useful() // that it is refused is our doing
				return frame.StreamError(id, frame.RefusedStream, "too many handlers still run")
			}
			return nil
		}
		if crowded && late == nil && !hopeless {
			t := time.NewTimer(protocol.HandlerPatience)
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
			if c.core.EndWait() {
				c.core.WaitedTooLong()
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
	c.core.BlockReader()
	return r.in.act.wake
}

// checkHardLimit ends a connection that holds too much.
func (r *reader) checkHardLimit() error {
	c := r.lock()
	defer c.unlock()
	return c.core.CheckHardLimit(&r.in.act.Intake)
}
