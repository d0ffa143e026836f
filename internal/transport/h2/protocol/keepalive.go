// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Keepalive says when to ask a silent peer whether it is still there.
type Keepalive struct {
	// Interval is how long the connection may be without input before we send a PING. 0 switches
	// keepalive off.
	Interval time.Duration
	// Timeout is how long the answer, or any other input, may take.
	Timeout time.Duration
	// WithoutStreams means that PINGs are also sent while no stream is open.
	WithoutStreams bool
}

// KeepaliveState is the state of keepalive between two checks. Pure: time is an argument.
type KeepaliveState struct {
	asked int64 // when the unanswered PING went out; 0 means that there is none
}

// KeepaliveVerdict says what to do after a check.
type KeepaliveVerdict uint8

// The verdicts.
const (
	KeepWaiting KeepaliveVerdict = iota
	KeepAsk                      // send a PING
	KeepDormant                  // nothing to watch until a stream opens
	KeepDead                     // the peer did not answer in time
)

// Check returns what to do at the time now, and after what time to check again. lastRead is when input
// was last seen. All times are nanoseconds of one clock.
func (k *KeepaliveState) Check(cfg *Keepalive, now, lastRead int64, streams int) (KeepaliveVerdict, time.Duration) {
	if k.asked != 0 && lastRead < k.asked {
		if left := k.asked + int64(cfg.Timeout) - now; left > 0 {
			return KeepWaiting, time.Duration(left)
		}
		return KeepDead, 0
	}
	k.asked = 0
	if streams == 0 && !cfg.WithoutStreams {
		return KeepDormant, 0
	}
	if left := lastRead + int64(cfg.Interval) - now; left > 0 {
		return KeepWaiting, time.Duration(left)
	}
	k.asked = now
	// If the answer may take longer than the interval, the peer is still asked once in every interval.
	return KeepAsk, min(cfg.Timeout, cfg.Interval)
}
