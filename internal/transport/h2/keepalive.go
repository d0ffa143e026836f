// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// keepalive is when keepalive checks next. For a check that is minutes away it uses package
// alarm, which may be somewhat late: a timer of its own would be a good part of the memory
// that a parked connection takes. Guarded by Conn.mu.
type keepalive struct {
	state protocol.KeepaliveState
	timer *time.Timer // nil if listed
	seat  alarm.Seat

	begun  bool // the peer's SETTINGS arrived
	armed  bool // there will be a check
	listed bool // an alarm was set for it
}

// isFar reports whether a check after d is one for an alarm.
func isFar(d time.Duration) bool { return d >= time.Minute && !clock.InBubble() }

// arm makes the next check, which is o's Ring, come after d.
func (k *keepalive) arm(d time.Duration, o alarm.Owner) {
	k.armed = true
	if isFar(d) {
		k.stopTimer()
		k.listed = true
		alarm.Set(o, d)
		return
	}
	k.stopAlarm()
	if k.timer == nil {
		k.timer = time.AfterFunc(d, o.Ring)
		return
	}
	k.timer.Reset(d)
}

// stop ends all checks.
func (k *keepalive) stop() {
	k.stopTimer()
	k.stopAlarm()
}

func (k *keepalive) stopTimer() {
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
}

func (k *keepalive) stopAlarm() {
	if k.listed {
		k.listed = false
		alarm.Drop(&k.seat)
	}
}

// alarmOwner is the connection as the owner of an alarm.
type alarmOwner Conn

// Ring implements alarm.Owner.
func (o *alarmOwner) Ring() { (*Conn)(o).checkKeepalive() }

// Seat implements alarm.Owner.
func (o *alarmOwner) Seat() *alarm.Seat { return &o.keepalive.seat }

// armKeepalive makes the next check come after d.
func (c *locked) armKeepalive(d time.Duration) { c.keepalive.arm(d, (*alarmOwner)(c)) }

// startKeepalive follows the peer's first SETTINGS.
func (c *locked) startKeepalive() {
	ka := &c.core.Config().Keepalive
	if ka.Interval <= 0 {
		return
	}
	c.keepalive.begun = true
	if c.core.IsDead() || c.keepalive.armed || (c.core.OpenStreams() == 0 && !ka.WithoutStreams) {
		return
	}
	c.armKeepalive(ka.Interval)
}

// streamOpened wakes keepalive where it only watches open streams.
func (c *locked) streamOpened() {
	ka := &c.core.Config().Keepalive
	if ka.Interval <= 0 || ka.WithoutStreams || !c.keepalive.begun || c.keepalive.armed {
		return
	}
	// The peer owed us no answer while no stream was open.
	c.lastRead.Store(clock.Now())
	c.armKeepalive(ka.Interval)
}

// checkKeepalive is one check of keepalive: is the peer still there?
func (c *Conn) checkKeepalive() {
	l := c.lock()
	if l.core.IsDead() || l.core.IsMute() {
		l.unlock()
		return
	}
	now := clock.Now()
	if l.core.ReaderBlocked() {
		l.lastRead.Store(now) // we don't read now, which is not the peer's fault
	}
	verdict, next := l.keepalive.state.Check(&l.core.Config().Keepalive, now, l.lastRead.Load(), l.core.OpenStreams())
	switch verdict {
	case protocol.KeepDead:
		l.unlock()
		// Not here: closing may take a while, and other owners' alarms ring on this goroutine.
		go c.terminate(&protocol.ConnError{Code: frame.NoError, Reason: "keepalive ping failed to receive ACK within timeout"})
		return
	case protocol.KeepDormant:
		l.keepalive.armed = false
		l.unlock()
		return
	case protocol.KeepAsk:
		l.core.AskAlive()
	}
	l.armKeepalive(next)
	l.unlockAndFlush()
}
