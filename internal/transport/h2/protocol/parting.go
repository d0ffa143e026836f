// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// do does what an event of life asks for. The caller flushes what it queues.
func (c *Conn) do(d duty) {
	if d.has(sayAnnouncement) {
		e := c.ending()
		c.out.goAway(math.MaxInt32, e.reason.code, e.reason.debug)
		c.out.ping(DrainPing)
	}
	if d.has(sayFarewell) {
		e := c.ending()
		e.lastSaid = c.streams.lastPeer
		c.out.goAway(e.lastSaid, e.reason.code, e.reason.debug)
	}
	if d.has(refuseWaiters) {
		c.streams.wakeAll()
	}
	if d.has(part) {
		c.out.token = tokenHeld // for good
		c.wakeReader()
		c.todo |= CloseConn
	}
}

// Finish goes on with the end of a connection that is on its way out: it says farewell once no stream is
// open, and asks for the connection to be closed once all is written. It is called again when the writer stops.
func (c *Conn) Finish() {
	if c.life.exit != staying {
		c.do(c.life.finish(c.streams.open(), c.out.unsent()))
	}
}

// Leave makes the connection end when its last stream has, and lets us open no other.
func (c *Conn) Leave() {
	c.do(c.life.leave())
	c.Finish()
}

// Drain is the first step of a drain; both of its GOAWAYs have code and debug. It reports false if nothing is
// said now: that step was taken before, or Start will say it.
func (c *Conn) Drain(code frame.ErrCode, debug string) (said bool) {
	if c.life.drainable() {
		c.ending().reason = drainReason{code, debug}
	}
	d := c.life.announce()
	c.do(d)
	return d != 0
}

// Start is the beginning: it queues the preface. ok is false if the connection was closed before. drains
// reports that the first step of a drain was taken, which Drain was called for before.
func (c *Conn) Start() (drains, ok bool) {
	d, ok := c.life.start()
	if !ok {
		return false, false
	}
	c.sendPreface()
	c.do(d)
	c.Finish()
	return d.has(sayAnnouncement), true
}

// CanDrain reports whether drain is still to come.
func (c *Conn) CanDrain() bool { return c.life.drainable() }

// EndDrain is the second step.
func (c *Conn) EndDrain() {
	if d := c.life.endDrain(); d != 0 {
		c.do(d)
		c.Finish()
	}
}

// SayGoAway tells the peer which rule it broke. sent is woken when the system has that frame, or can't
// have it. It reports false if the peer can't be told.
func (c *Conn) SayGoAway(ce *ConnError, sent Waiter) bool {
	can, said := c.life.breakOff()
	if !can {
		return false
	}
	c.do(refuseWaiters)
	last := c.streams.lastPeer
	if said {
		// "Endpoints MUST NOT increase the value they send in the last stream
		// identifier", section 6.8.
		last = c.end.lastSaid
	}
	c.out.goAway(last, ce.Code, ce.Reason)
	c.ending().flushed = sent
	return true
}

// peerLeaves obeys the peer's GOAWAY f. It returns the streams that the peer will not
// process.
func (c *Conn) peerLeaves(f frame.GoAwayFrame) (lost []*Stream, err error) {
	if c.life.peerLeft && f.LastStreamID > c.end.lastAccepted {
		// "Endpoints MUST NOT increase the value they send in the last stream
		// identifier", section 6.8.
		return nil, frame.ConnError(frame.ProtocolError, "a later GOAWAY names a higher last stream")
	}
	highest := c.streams.nextLocal
	if c.life.peerLeft {
		highest = c.end.lastAccepted
	}
	c.ending().lastAccepted = f.LastStreamID
	if f.Code != frame.NoError {
		c.noteComplaint(f)
	}
	c.do(c.life.peerLeaves(c.streams.side))
	return c.streams.ours(f.LastStreamID, highest), nil
}

// maxComplaint is how many bytes of debug data a server keeps: only its log has them.
const maxComplaint = 1 << 10

// noteComplaint keeps what a GOAWAY complains of, unless the last one said the same.
func (c *Conn) noteComplaint(f frame.GoAwayFrame) {
	debug := f.Debug
	if c.streams.side == Server {
		debug = debug[:min(len(debug), maxComplaint)]
	}
	if old := c.end.goAwayCause; old == nil || old.Code != f.Code || old.Reason != string(debug) {
		c.end.goAwayCause = &ConnError{Code: f.Code, Reason: string(debug), Remote: true}
	}
}
