// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/warm"
)

// heartbeat is when keepalive looks next. A look that is far off is an alarm, as a timer of
// its own would be a good part of what the connection costs meanwhile; it may come somewhat
// late. Guarded by Conn.mu.
type heartbeat struct {
	keepaliveState
	timer *time.Timer // nil if listed
	seat  alarm.Seat

	begun   bool // the peer's SETTINGS arrived
	beating bool // there will be a look
	listed  bool // it may come from an alarm
	worked  bool // HEADERS or DATA were encoded since the peer's last PING
}

// isFar reports whether a look after d is one for an alarm.
func isFar(d time.Duration) bool { return d >= time.Minute && !warm.InBubble() }

// arm makes the next look, by o, come after d.
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

// stop is the end of it.
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
