// SPDX-License-Identifier: Apache-2.0

package alarm

import (
	"time"

	"google.golang.org/grpc/internal/clock"
)

// Ringer is what happens when an [Alarm] rings, on a goroutine of its own.
type Ringer interface{ Ring() }

// Alarm is an [Owner] for who would wait when rung, or may live in a bubble of
// testing/synctest, which has a clock of its own. The zero value is not set. Its methods
// are called one at a time; the Ringer may run beside them.
type Alarm struct {
	ringer Ringer // once it was set
	seat   Seat
	timer  *time.Timer // in a bubble
}

// Set has r, which is the same each time, rung after a while, in place of what was set
// before.
func (a *Alarm) Set(after time.Duration, r Ringer) {
	if clock.InBubble() {
		a.Stop()
		a.timer = time.AfterFunc(after, r.Ring)
		return
	}
	if a.ringer == nil {
		a.ringer = r
	}
	Set((*ringing)(a), after)
}

// Stop keeps the alarm from ringing, if it has not begun to.
func (a *Alarm) Stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
		return
	}
	Drop(&a.seat)
}

// ringing is the Alarm as an Owner.
type ringing Alarm

func (a *ringing) Ring()       { go a.ringer.Ring() }
func (a *ringing) Seat() *Seat { return &a.seat }
