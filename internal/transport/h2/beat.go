// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// beating is the connection as the owner of an alarm.
type beating Conn

// Ring implements alarm.Owner.
func (b *beating) Ring() { (*Conn)(b).beat() }

// Seat implements alarm.Owner.
func (b *beating) Seat() *alarm.Seat { return &b.heart.seat }

// armKeepalive makes the next check come after d.
func (c *locked) armKeepalive(d time.Duration) { c.heart.arm(d, (*beating)(c)) }

// startKeepalive follows the peer's first SETTINGS.
func (c *locked) startKeepalive() {
	ka := &c.out.cfg.Keepalive
	if ka.Interval <= 0 {
		return
	}
	c.heart.begun = true
	if c.life.dead() || c.heart.beating || (c.streams.open() == 0 && !ka.WithoutStreams) {
		return
	}
	c.armKeepalive(ka.Interval)
}

// streamOpened wakes keepalive where it only watches open streams.
func (c *locked) streamOpened() {
	ka := &c.out.cfg.Keepalive
	if ka.Interval <= 0 || ka.WithoutStreams || !c.heart.begun || c.heart.beating {
		return
	}
	// The peer owed us no answer while no stream was open.
	c.pulse.lastRead.Store(clock.Now())
	c.armKeepalive(ka.Interval)
}

// beat is one check of keepalive: is the peer still there?
func (c *Conn) beat() {
	l := c.lock()
	if l.life.dead() || l.life.mute {
		l.unlock()
		return
	}
	now := clock.Now()
	if l.streams.handlers.blocked {
		l.pulse.lastRead.Store(now) // we don't read now, which is not the peer's fault
	}
	verdict, next := l.heart.check(&l.out.cfg.Keepalive, now, l.pulse.lastRead.Load(), l.streams.open())
	switch verdict {
	case keepDead:
		l.unlock()
		// Not here: closing may take a while, and other owners' alarms ring on this goroutine.
		go c.terminate(&ConnError{Code: frame.NoError, Reason: "keepalive ping failed to receive ACK within timeout"})
		return
	case keepDormant:
		l.heart.beating = false
		l.unlock()
		return
	case keepAsk:
		l.out.ping(alivePing)
	}
	l.armKeepalive(next)
	l.unlockAndFlush()
}
