// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// waitForBudget waits until enough of what the peer made us queue is written. If id is not 0, the peer
// is opening stream id. Then it also waits for a handler to return, if too many run, for
// HandlerPatience at most. If none returns, it returns an error that refuses the stream. The wait must
// be bounded: handlers may themselves wait for input that is still to be read, and the peer may wait
// for the answer to a PING. After a wait that timed out it does not wait for the same handlers again
// until clearly fewer run.
func (r *reader) waitForBudget(id uint32) error {
	opening := id != 0
	r.endBatch()
	var late <-chan time.Time // nil: no wait for handlers has begun
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
				r.in.act.PayRefusal()
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
				<-w // it was too late to cancel the wait: the wake-up comes
			}
			c.unlock()
		}
	}
}

// block returns the channel on which the reader will be woken when the core asks for WakeReader.
func (r *reader) block(c *locked) <-chan struct{} {
	if c.core.Config().Keepalive.Interval > 0 {
		r.lastRead.Store(clock.Now()) // that we read nothing from now on is not the peer's fault
	}
	if r.in.act.wake == nil {
		r.in.act.wake = make(chan struct{}, 1)
	}
	c.core.BlockReader()
	return r.in.act.wake
}

// checkHardLimit returns an error, which ends the connection, if the connection holds too much.
func (r *reader) checkHardLimit() error {
	c := r.lock()
	defer c.unlock()
	return c.core.CheckHardLimit(&r.in.act.Intake)
}
