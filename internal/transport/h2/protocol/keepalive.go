// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Keepalive says when to ask a silent peer whether it is still there.
type Keepalive struct {
	// Interval is how long the connection may be without input before a PING;
	// 0 switches keepalive off.
	Interval time.Duration
	// Timeout is how long the answer, or any other input, may take.
	Timeout time.Duration
	// WithoutStreams asks also while no stream is open.
	WithoutStreams bool
}

// KeepaliveState is where keepalive stands. Pure: the clock is an argument.
type KeepaliveState struct {
	asked int64 // when the PING went out, 0 while none is
}

// KeepaliveVerdict is what a check asks for.
type KeepaliveVerdict uint8

// The verdicts.
const (
	KeepWaiting KeepaliveVerdict = iota
	KeepAsk                      // send a PING
	KeepDormant                  // nothing to watch until a stream opens
	KeepDead                     // the peer did not answer in time
)

// Check says what to do at now, when input was last seen at lastRead, and when
// to check again. All times are nanoseconds of one clock.
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
	// Where the answer may take longer than the interval, the peer is still asked once in
	// every interval.
	return KeepAsk, min(cfg.Timeout, cfg.Interval)
}
