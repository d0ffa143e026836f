// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"math"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// drainState is how far the local side has gone in taking leave.
//
// RFC 9113 section 6.8: a server "SHOULD send an initial GOAWAY frame with the
// last stream identifier set to 2^31-1 and a NO_ERROR code. [...] After
// allowing time for any in-flight stream creation (at least one round-trip
// time), the server MAY send another GOAWAY frame with an updated last stream
// identifier." The round trip is measured by a PING.
type drainState uint8

const (
	notDraining    drainState = iota
	drainAnnounced            // first GOAWAY sent, streams are still accepted
	drained                   // second GOAWAY sent, no stream is accepted
)

// drainReason is what both GOAWAYs say.
type drainReason struct {
	code  frame.ErrCode
	debug string
}

// drainPatience is how long the PING between the two steps may take, and drainGrace
// how long after its answer a stream may still come: some clients say first that they
// have seen the PING, and then what they had to say when they saw it.
const (
	drainPatience = 5 * time.Second
	drainGrace    = 5 * time.Millisecond
)

// Drain takes leave of the peer in two steps: streams that are open, or on
// their way, are served to their end, then the connection closes. code and
// debug say why.
func (c *Conn) Drain(code frame.ErrCode, debug string) {
	c.mu.Lock()
	if c.dead || c.draining != notDraining {
		c.mu.Unlock()
		return
	}
	c.draining = drainAnnounced
	c.ending().reason = drainReason{code, debug}
	c.appendGoAway(math.MaxInt32, code, debug)
	c.appendPing(drainPing)
	time.AfterFunc(drainPatience, c.drainLate)
	c.unlockAndFlush()
}

// Retire takes no new stream and closes the connection when the last one is
// gone. The peer is not told before that.
func (c *Conn) Retire() {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return
	}
	c.leave()
	c.unlockAndFlush()
}

// drainLate goes on with the second step, when the peer has answered or does not.
func (c *Conn) drainLate() {
	c.mu.Lock()
	if c.dead || c.draining != drainAnnounced {
		c.mu.Unlock()
		return
	}
	c.finishDrain()
	c.unlockAndFlush()
}

// finishDrain is the second step. mu is held.
func (c *Conn) finishDrain() {
	c.draining = drained
	if !c.farewell {
		c.sayFarewell()
	}
	c.leave()
}

func (c *Conn) appendGoAway(last uint32, code frame.ErrCode, debug string) {
	c.out.reserve(256, c.cfg.Pool)
	c.out.adopt(frame.AppendGoAway(c.out.b, last, code, []byte(debug)), c.cfg.Pool)
}

// sayFarewell queues our last GOAWAY. "Endpoints SHOULD always send a GOAWAY
// frame before closing a connection", section 6.8.
func (c *Conn) sayFarewell() {
	c.farewell = true
	e := c.ending()
	e.lastSaid = c.table.lastPeer
	c.appendGoAway(e.lastSaid, e.reason.code, e.reason.debug)
}

// takesNone reports whether our last GOAWAY is said: a stream that the peer
// opens after that is above the last one it named. mu is held.
func (c *Conn) takesNone() bool { return c.farewell || c.left }

// leave makes the connection end when its last stream has, and no other stream
// of ours begin. mu is held; what it queues is for the caller to flush.
func (c *Conn) leave() {
	c.leaving = true
	c.table.wakeAll()
	if c.table.open() == 0 {
		c.tryPart()
	}
}

// lastStreamGone runs under mu when the table has become empty.
func (c *Conn) lastStreamGone() {
	if c.cfg.TrackIdle {
		c.idleSince = clock()
	}
	if c.slimmed {
		c.table.trim()
	}
	c.tryPart()
}

// tryPart ends a connection that takes leave and has nothing left to do, as soon
// as all is written: it is called again when the writer stops. mu is held.
func (c *Conn) tryPart() {
	if !c.leaving || c.left || c.dead || c.table.open() > 0 || c.admitting {
		return
	}
	if !c.farewell {
		c.sayFarewell()
	}
	if c.writing || !c.out.empty() {
		return
	}
	c.left = true
	c.writing, c.mute = true, true // what the rest of the input causes is not sent
	c.wakeReaderLocked()
	go c.part()
}

// part closes a connection on which everything was said. A server lets the
// client hang up first, for a while: if it closed its socket with input unread,
// the system would take back replies that the client has not read yet.
func (c *Conn) part() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if c.side == Client || !ok || half.CloseWrite() != nil {
		c.terminate(ErrDrained)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLater(ErrDrained, partingPatience)
}

// partingPatience is how many times lastFlush a client may take to hang up while
// it goes on sending: it is then still busy with what we sent.
const partingPatience = 10

// closeLater ends the connection with err, unless the reader does before: after
// lastFlush, which is as often extended as there was input and extensions are
// left. mu is held.
func (c *Conn) closeLater(err error, extensions int) {
	if c.dead {
		return
	}
	c.heard.Store(false)
	c.ending().patience = time.AfterFunc(lastFlush, func() {
		if extensions > 0 && c.heard.Load() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.closeLater(err, extensions-1)
			return
		}
		c.terminate(err)
	})
}

// onGoAway obeys the peer's GOAWAY: no new streams, and those that it will not
// look at are over.
func (c *Conn) onGoAway(h frame.Header, p []byte) error {
	f, err := frame.ParseGoAway(h, p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.goneAway && f.LastStreamID > c.end.lastAccepted {
		c.mu.Unlock()
		// "Endpoints MUST NOT increase the value they send in the last stream
		// identifier", section 6.8.
		return frame.ConnError(frame.ProtocolError, "a later GOAWAY names a higher last stream")
	}
	c.goneAway, c.ending().lastAccepted = true, f.LastStreamID
	debug := string(f.Debug)
	if f.Code != frame.NoError {
		c.end.goAwayCause = &ConnError{Code: f.Code, Reason: debug, Remote: true}
	}
	if c.side == Client {
		// "Receivers of a GOAWAY frame MUST NOT open additional streams on the connection",
		// section 6.8. A server opens none anyway, and its client still may.
		c.leaving = true
		c.table.wakeAll()
	}
	var lost []*Stream
	for id, s := range c.table.byID {
		if c.side.opens(id) && id > f.LastStreamID {
			lost = append(lost, s)
		}
	}
	c.mu.Unlock()

	c.handler.GoAway(f.Code, debug)
	for _, s := range lost {
		c.mu.Lock()
		gone := c.table.get(s.id) != s
		if !gone {
			c.finish(s)
		}
		c.mu.Unlock()
		if !gone {
			s.recv.OnAbort(&StreamError{Code: frame.RefusedStream, Reason: "the peer went away", Remote: true, Unprocessed: true})
		}
	}
	c.mu.Lock()
	c.tryPart()
	c.mu.Unlock()
	return nil
}
