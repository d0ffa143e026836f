// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
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
	ka := &c.core.Config().Keepalive
	if ka.Interval <= 0 {
		return
	}
	c.heart.begun = true
	if c.core.IsDead() || c.heart.beating || (c.core.OpenStreams() == 0 && !ka.WithoutStreams) {
		return
	}
	c.armKeepalive(ka.Interval)
}

// streamOpened wakes keepalive where it only watches open streams.
func (c *locked) streamOpened() {
	ka := &c.core.Config().Keepalive
	if ka.Interval <= 0 || ka.WithoutStreams || !c.heart.begun || c.heart.beating {
		return
	}
	// The peer owed us no answer while no stream was open.
	c.lastRead.Store(clock.Now())
	c.armKeepalive(ka.Interval)
}

// beat is one check of keepalive: is the peer still there?
func (c *Conn) beat() {
	l := c.lock()
	if l.core.IsDead() || l.core.IsMute() {
		l.unlock()
		return
	}
	now := clock.Now()
	if l.core.ReaderBlocked() {
		l.lastRead.Store(now) // we don't read now, which is not the peer's fault
	}
	verdict, next := l.heart.state.Check(&l.core.Config().Keepalive, now, l.lastRead.Load(), l.core.OpenStreams())
	switch verdict {
	case protocol.KeepDead:
		l.unlock()
		// Not here: closing may take a while, and other owners' alarms ring on this goroutine.
		go c.terminate(&protocol.ConnError{Code: frame.NoError, Reason: "keepalive ping failed to receive ACK within timeout"})
		return
	case protocol.KeepDormant:
		l.heart.beating = false
		l.unlock()
		return
	case protocol.KeepAsk:
		l.core.AskAlive()
	}
	l.armKeepalive(next)
	l.unlockAndFlush()
}
