// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// do does what an event of life has returned. It only queues frames: the caller makes sure that they
// are written.
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

// Finish continues the end of a connection that is on its way out. Once no stream is open it queues the
// farewell. Once everything is written it asks for the connection to be closed. It is called again when
// the writer stops.
func (c *Conn) Finish() {
	if c.life.exit != staying {
		c.do(c.life.finish(c.streams.open(), c.out.unsent()))
	}
}

// EndAfterStreams makes the connection end when its last stream has ended, and lets us open no other stream.
func (c *Conn) EndAfterStreams() {
	c.do(c.life.leave())
	c.Finish()
}

// Drain takes the first step of a drain. Both GOAWAYs of the drain have code and debug. It returns
// false if it queues nothing now: either the first step was taken before, or Start will take it.
func (c *Conn) Drain(code frame.ErrCode, debug string) (said bool) {
	if c.life.drainable() {
		c.ending().reason = drainReason{code, debug}
	}
	d := c.life.announce()
	c.do(d)
	return d != 0
}

// Start starts the connection: it queues the preface. ok is false if the connection was closed before.
// drains reports whether Start took the first step of a drain, because Drain was called before.
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

// CanDrain reports whether Drain would begin a drain.
func (c *Conn) CanDrain() bool { return c.life.drainable() }

// EndDrain takes the second step of a drain.
func (c *Conn) EndDrain() {
	if d := c.life.endDrain(); d != 0 {
		c.do(d)
		c.Finish()
	}
}

// SayGoAway queues a GOAWAY that tells the peer which rule it broke. sent is woken when the system has
// taken that frame, or never will. SayGoAway returns false if the peer can't be told.
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

// peerLeaves handles the peer's GOAWAY f. It returns the streams that the peer will not process.
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

// maxComplaint is how many bytes of a GOAWAY's debug data are looked at: on clients all RPCs of the connection
// may get them in their errors.
const maxComplaint = 1 << 10

// noteComplaint keeps the code and debug data of a GOAWAY with an error, unless the last one had the
// same.
func (c *Conn) noteComplaint(f frame.GoAwayFrame) {
	if old := c.end.goAwayCause; old == nil || old.Code != f.Code || old.Reason != string(f.Debug) {
		c.end.goAwayCause = &ConnError{Code: f.Code, Reason: string(f.Debug), Remote: true}
	}
}
