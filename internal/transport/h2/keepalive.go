// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/warm"
)

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

// keepaliveState is where keepalive stands. Pure: the clock is an argument.
type keepaliveState struct {
	asked int64 // when the PING went out, 0 while none is
}

type keepaliveVerdict uint8

const (
	keepWaiting keepaliveVerdict = iota
	keepAsk                      // send a PING
	keepDormant                  // nothing to watch until a stream opens
	keepDead                     // the peer did not answer in time
)

// check says what to do at now, when input was last seen at lastRead, and when
// to check again. All times are nanoseconds of one clock.
func (k *keepaliveState) check(cfg *Keepalive, now, lastRead int64, streams int) (keepaliveVerdict, time.Duration) {
	if k.asked != 0 && lastRead < k.asked {
		if left := k.asked + int64(cfg.Timeout) - now; left > 0 {
			return keepWaiting, time.Duration(left)
		}
		return keepDead, 0
	}
	k.asked = 0
	if streams == 0 && !cfg.WithoutStreams {
		return keepDormant, 0
	}
	if left := lastRead + int64(cfg.Interval) - now; left > 0 {
		return keepWaiting, time.Duration(left)
	}
	k.asked = now
	// Where the answer may take longer than the interval, the peer is still asked once in
	// every interval.
	return keepAsk, min(cfg.Timeout, cfg.Interval)
}

// clock counts nanoseconds from the start of the process.
func clock() int64 { return int64(time.Since(epoch)) }

// clockTime is the moment of the clock n, the zero time for 0.
func clockTime(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return epoch.Add(time.Duration(n))
}

var epoch = time.Now().Add(-time.Second) // 0 is never a time

// stampRead notes that there was input. The reader does it once a batch.
func (c *Conn) stampRead() {
	c.act.now = time.Now()
	c.act.entry.Touch()
	if !c.heard.Load() { // spares others the cache line
		c.heard.Store(true)
	}
	if c.cfg.Keepalive.Interval > 0 {
		c.lastRead.Store(int64(c.act.now.Sub(epoch)))
	}
}

func (c *Conn) startKeepalive() {
	if c.cfg.Keepalive.Interval <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gotSettings = true
	if c.dead || c.watching || (c.table.open() == 0 && !c.cfg.Keepalive.WithoutStreams) {
		return
	}
	c.armKeepalive(c.cfg.Keepalive.Interval)
}

// farOff reports whether a tick is so far away that it may come somewhat late, and that
// a timer of its own would be a good part of what the connection costs meanwhile.
func farOff(d time.Duration) bool { return d >= time.Minute && !warm.InBubble() }

// ticking is the connection as the owner of an alarm.
type ticking Conn

func (t *ticking) Ring()             { (*Conn)(t).keepaliveTick() }
func (t *ticking) Seat() *alarm.Seat { return &t.seat }

// armKeepalive makes the next tick come after d. mu is held.
func (c *Conn) armKeepalive(d time.Duration) {
	c.stopKeepalive(farOff(d))
	c.watching = true
	if farOff(d) {
		c.listed = true
		alarm.Set((*ticking)(c), d)
		return
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.keepaliveTick)
		return
	}
	c.timer.Reset(d)
}

// stopKeepalive takes back what armKeepalive did, but for what it is about to use
// again: a place among the alarms, or else the timer. mu is held.
func (c *Conn) stopKeepalive(far bool) {
	if far && c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if !far && c.listed {
		c.listed = false
		alarm.Drop((*ticking)(c))
	}
}

func (c *Conn) stopTimers() {
	c.stopKeepalive(true)
	c.stopKeepalive(false)
	if e := c.end; e != nil && e.patience != nil {
		e.patience.Stop()
	}
}

// streamOpened wakes keepalive where it only watches open streams. mu is held.
func (c *Conn) streamOpened() {
	ka := &c.cfg.Keepalive
	if ka.Interval <= 0 || ka.WithoutStreams || !c.gotSettings || c.watching {
		return
	}
	// The peer owed us no answer while no stream was open.
	c.lastRead.Store(clock())
	c.armKeepalive(ka.Interval)
}

func (c *Conn) keepaliveTick() {
	c.mu.Lock()
	if c.dead || c.mute {
		c.mu.Unlock()
		return
	}
	if c.blocked {
		c.lastRead.Store(clock()) // we don't listen: no fault of the peer's
	}
	verdict, next := c.ka.check(&c.cfg.Keepalive, clock(), c.lastRead.Load(), c.table.open())
	switch verdict {
	case keepDead:
		c.mu.Unlock()
		// Not here: closing may take a while, and others wait for their tick.
		go c.terminate(&ConnError{Code: frame.NoError, Reason: "keepalive ping failed to receive ACK within timeout"})
		return
	case keepDormant:
		c.watching = false
		c.mu.Unlock()
		return
	case keepAsk:
		c.appendPing(alivePing)
	}
	c.armKeepalive(next)
	c.unlockAndFlush()
}
