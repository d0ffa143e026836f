// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"math"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// do does what an event of life asks for. The caller flushes what it queues.
func (c *locked) do(d duty) {
	if d.has(sayAnnouncement) {
		e := c.ending()
		c.out.goAway(math.MaxInt32, e.reason.code, e.reason.debug)
		c.out.ping(drainPing)
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
		c.out.writing = true // for good
		c.wakeReader()
		go (*Conn)(c).part()
	}
}

// finish ends a connection that is on its way out, if it has nothing left to do and all is
// written. It is called again when the writer stops.
func (c *locked) finish() {
	if c.life.exit != staying {
		c.do(c.life.finish(c.streams.open(), c.out.unsent()))
	}
}

// leave makes the connection end when its last stream has, and lets us open no other.
func (c *locked) leave() {
	c.do(c.life.leave())
	c.finish()
}

// drain is the first step of a drain; both of its GOAWAYs say why. It reports false if nothing is
// said now: that step was taken before, or begin will say it.
func (c *locked) drain(why drainReason) (said bool) {
	if c.life.drainable() {
		c.ending().reason = why
	}
	d := c.life.announce()
	c.do(d)
	return d != 0
}

// begin follows the queueing of the preface. d is what the beginning asks for. It reports whether
// that is the first step of a drain.
func (c *locked) begin(d duty) (said bool) {
	c.do(d)
	c.finish()
	return d.has(sayAnnouncement)
}

// endDrain is the second step.
func (c *locked) endDrain() {
	if d := c.life.endDrain(); d != 0 {
		c.do(d)
		c.finish()
	}
}

// part closes a connection on which everything was said. A server lets the
// client hang up first, for a while: if it closed its socket with input unread,
// the system would take back replies that the client has not read yet.
func (c *Conn) part() {
	if c.streams.side == Client || !c.wire.closeWrite() {
		c.terminate(ErrDrained)
		return
	}
	l := c.lock()
	defer l.unlock()
	l.closeLater(ErrDrained, partingPatience)
}

// sayGoAway tells the peer which rule it broke. done is closed when the system has that
// frame, or can't have it; it is nil if the peer can't be told.
func (c *locked) sayGoAway(ce *ConnError) (done <-chan struct{}) {
	can, said := c.life.breakOff()
	if !can {
		return nil
	}
	c.do(refuseWaiters)
	last := c.streams.lastPeer
	if said {
		// "Endpoints MUST NOT increase the value they send in the last stream
		// identifier", section 6.8.
		last = c.end.lastSaid
	}
	c.out.goAway(last, ce.Code, ce.Reason)
	flushed := make(chan struct{})
	c.ending().flushDone = flushed
	c.wire.nc.SetWriteDeadline(time.Now().Add(lastFlush))
	return flushed
}

// peerLeaves obeys the peer's GOAWAY f. It returns the streams that the peer will not
// process.
func (c *locked) peerLeaves(f frame.GoAwayFrame) (lost []*stream, err error) {
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
func (c *locked) noteComplaint(f frame.GoAwayFrame) {
	debug := f.Debug
	if c.streams.side == Server {
		debug = debug[:min(len(debug), maxComplaint)]
	}
	if old := c.end.goAwayCause; old == nil || old.Code != f.Code || old.Reason != string(debug) {
		c.end.goAwayCause = &ConnError{Code: f.Code, Reason: string(debug), Remote: true}
	}
}
