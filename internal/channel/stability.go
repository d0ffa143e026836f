// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"time"
)

// A connection that is lost soon after it was made is a failed attempt where Options.StableAfter says
// so: the back-off goes on. Otherwise each connection that is made ends the back-off, as in the
// published module, and a server that accepts and closes is dialed without a pause.

var errLostEarly = errors.New("the connection was lost soon after it was made")

// succeededLocked follows an attempt that made l.
func (sub *Subchannel) succeededLocked(l *Link) {
	after := sub.ch.opts.StableAfter
	if after <= 0 {
		sub.retries = 0
		return
	}
	sub.young = true
	time.AfterFunc(after, func() {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if sub.current == l {
			sub.young, sub.retries = false, 0
		}
	})
}

// lostEarlyLocked begins a pause if the current connection, which is lost, counts as a failed
// attempt, and reports whether it does.
func (sub *Subchannel) lostEarlyLocked() bool {
	if !sub.young {
		return false
	}
	sub.young = false
	sub.ch.setConnErr(errLostEarly)
	sub.failLocked(errLostEarly, sub.ch.opts.Backoff.Backoff(sub.retries))
	return true
}
