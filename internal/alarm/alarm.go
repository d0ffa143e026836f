// SPDX-License-Identifier: Apache-2.0

package alarm

import (
	"time"

	"google.golang.org/grpc/internal/clock"
)

// Ringer is what an [Alarm] rings, on a goroutine of its own.
type Ringer interface{ Ring() }

// Alarm is an [Owner] for a Ringer that may wait when it is rung, or that may live in a bubble of
// testing/synctest, which has a clock of its own. The zero value is not set. The methods must not be called
// at the same time; the Ringer may run at the same time as a method.
type Alarm struct {
	ringer Ringer // once it was set
	seat   Seat
	timer  *time.Timer // in a bubble
}

// Set makes the alarm ring r after a while, in place of what was set before. r must be the same each time.
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
