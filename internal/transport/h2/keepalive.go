// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"os"
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// keepalive says when keepalive checks next. For a check that is minutes away it uses package alarm,
// which may be somewhat late. A timer for each connection would be a good part of the memory that a
// parked connection takes. Guarded by Conn.mu.
//
// Before the peer's first SETTINGS the check is for the time limit of the preface.
type keepalive struct {
	state protocol.KeepaliveState
	timer *time.Timer // nil if an alarm is set instead
	seat  alarm.Seat

	armed  bool // a check will come
	listed bool // an alarm is set for the check
}

// isFar reports whether a check after d uses an alarm.
func isFar(d time.Duration) bool { return d >= time.Minute && !clock.InBubble() }

// arm sets the next check for after d. The check calls Ring of o.
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

// alarmOwner is the Conn as an alarm.Owner.
type alarmOwner Conn

// Ring implements alarm.Owner.
func (o *alarmOwner) Ring() { (*Conn)(o).checkKeepalive() }

// Seat implements alarm.Owner.
func (o *alarmOwner) Seat() *alarm.Seat { return &o.keepalive.seat }

// armKeepalive sets the next check for after d.
func (c *locked) armKeepalive(d time.Duration) { c.keepalive.arm(d, (*alarmOwner)(c)) }

// startKeepalive is called when the peer's first SETTINGS have arrived.
func (c *locked) startKeepalive() {
	ka := &c.core.Config().Keepalive
	if ka.Interval <= 0 || c.core.IsDead() || c.keepalive.armed || (c.core.OpenStreams() == 0 && !ka.WithoutStreams) {
		return
	}
	c.armKeepalive(ka.Interval)
}

// streamOpened starts the checks again, if keepalive checks only while streams are open.
func (c *locked) streamOpened() {
	ka := &c.core.Config().Keepalive
	if ka.Interval <= 0 || ka.WithoutStreams || !(*Conn)(c).hasBegun() || c.keepalive.armed {
		return
	}
	// What was not heard while no stream was open counts too: after that long the peer may be gone, and the
	// stream should not have to wait for an interval of its own (gRFC A8).
	c.armKeepalive(max(0, time.Duration(c.lastRead.Load()-clock.Now())+ka.Interval))
}

// checkKeepalive is one check of keepalive: is the peer still there? Before the peer's first SETTINGS it ends the
// connection.
func (c *Conn) checkKeepalive() {
	l := c.lock()
	if l.core.IsDead() || l.core.IsMute() {
		l.unlock()
		return
	}
	if !c.hasBegun() {
		late := l.core.CauseOf(os.ErrDeadlineExceeded)
		l.unlock()
		go c.terminate(late)
		return
	}
	if l.core.Config().Keepalive.Interval <= 0 {
		l.unlock() // the SETTINGS have just arrived
		return
	}
	now := clock.Now()
	if l.core.ReaderBlocked() && !l.core.OverBudget(true) {
		l.lastRead.Store(now) // the reader waits for handlers, for a moment
	}
	verdict, next := l.keepalive.state.Check(&l.core.Config().Keepalive, now, l.lastRead.Load(), l.core.OpenStreams())
	switch verdict {
	case protocol.KeepDead:
		l.unlock()
		// terminate runs on another goroutine: closing may take a while, and this goroutine also rings
		// the alarms of other owners.
		go c.terminate(protocol.ErrNotAlive)
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
	if verdict == protocol.KeepAsk {
		c.handler.AliveAsked()
	}
}
