// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"time"
)

// If Options.StableAfter is set, a connection that is lost within that time after it was made
// counts as a failed attempt, and the back-off goes on. If not, each connection that is made ends
// the back-off, as in the published module, so a server that accepts connections and closes them at
// once is dialed without a pause.

var errLostEarly = errors.New("the connection was lost soon after it was made")

// succeededLocked ends the back-off after an attempt that made l: at once, or once l has lived for
// Options.StableAfter.
func (sub *Subchannel) succeededLocked(l *Link) {
	after := sub.ch.opts.StableAfter
	if after <= 0 {
		sub.retries = 0
		return
	}
	sub.young = true
	sub.endProbationLocked()
	sub.probation = time.AfterFunc(after, func() {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if sub.current == l {
			sub.young, sub.retries = false, 0
		}
	})
}

// endProbationLocked lets go of what waits until a connection has lived for Options.StableAfter.
func (sub *Subchannel) endProbationLocked() {
	if sub.probation != nil {
		sub.probation.Stop()
		sub.probation = nil
	}
}

// madeUnfitLocked is what succeededLocked is for a connection that was lost before it could be used.
func (sub *Subchannel) madeUnfitLocked() {
	if sub.ch.opts.StableAfter <= 0 {
		sub.retries = 0
	}
	sub.young = sub.ch.opts.StableAfter > 0 && sub.current == nil
}

// lostEarlyLocked reports whether the connection that was just lost counts as a failed attempt, and
// begins a pause if it does. It does not while another attempt is under way, which decides.
func (sub *Subchannel) lostEarlyLocked() bool {
	young := sub.young
	sub.young = false
	if !young || sub.cancel != nil {
		return false
	}
	sub.ch.setConnErr(errLostEarly)
	sub.failLocked(errLostEarly, sub.ch.opts.Backoff.Backoff(sub.retries))
	return true
}
