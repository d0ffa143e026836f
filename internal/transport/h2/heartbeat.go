// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// heartbeat is when keepalive checks next. For a check that is minutes away it uses package
// alarm, which may be somewhat late: a timer of its own would be a good part of the memory
// that a parked connection takes. Guarded by Conn.mu.
type heartbeat struct {
	state protocol.KeepaliveState
	timer *time.Timer // nil if listed
	seat  alarm.Seat

	begun   bool // the peer's SETTINGS arrived
	beating bool // there will be a check
	listed  bool // an alarm was set for it
}

// isFar reports whether a check after d is one for an alarm.
func isFar(d time.Duration) bool { return d >= time.Minute && !clock.InBubble() }

// arm makes the next check, which is o's Ring, come after d.
func (h *heartbeat) arm(d time.Duration, o alarm.Owner) {
	h.beating = true
	if isFar(d) {
		h.stopTimer()
		h.listed = true
		alarm.Set(o, d)
		return
	}
	h.stopAlarm()
	if h.timer == nil {
		h.timer = time.AfterFunc(d, o.Ring)
		return
	}
	h.timer.Reset(d)
}

// stop ends all checks.
func (h *heartbeat) stop() {
	h.stopTimer()
	h.stopAlarm()
}

func (h *heartbeat) stopTimer() {
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

func (h *heartbeat) stopAlarm() {
	if h.listed {
		h.listed = false
		alarm.Drop(&h.seat)
	}
}
