// SPDX-License-Identifier: Apache-2.0

package protocol

// life is where a connection stands between its start and its end. Pure: its methods are
// what can happen; they change the state, and return what the connection has to do about
// it.
//
// Three things go on beside each other, each in one direction only:
//
//	stage   fresh -> running -> dead                  (fresh -> dead: closed before Start)
//	drain   notDraining -> announced -> drainOver     Drain's two GOAWAYs
//	exit    staying -> leaving -> farewell -> gone    how far we are on the way out
//
// "The server connection preface consists of a potentially empty SETTINGS frame that MUST be the
// first frame the server sends", RFC 9113 section 3.4: while the connection is fresh, a drain and
// an exit are noted, and nothing is said. start and finish do what is left to do then.
//
// The exit begins with Retire, with the second step of a drain, with the peer's GOAWAY, or
// when the stream ids are used up. From leaving on we open no stream. Once there is none
// left, the farewell is said: our last GOAWAY. Once that is written we are gone, and only
// the closing is left. Who breaks a rule is told so by a GOAWAY of its own, after which we
// are gone at once.
type life struct {
	stage Stage
	drain drainStage
	exit  exitStage

	peerLeft  bool // the peer said GOAWAY
	admitting bool // the reader decides about a stream: the last id counts it, the table not yet
	mute      bool // nothing is written any more; the write token is never given back
}

// Stage is the first of the three.
type Stage uint8

// The stages.
const (
	Fresh   Stage = iota // Start is still to come
	running              // there is a reader, or a parked one
	Dead
)

// drainStage is how far Drain has gone.
//
// RFC 9113 section 6.8: a server "SHOULD send an initial GOAWAY frame with the
// last stream identifier set to 2^31-1 and a NO_ERROR code. [...] After
// allowing time for any in-flight stream creation (at least one round-trip
// time), the server MAY send another GOAWAY frame with an updated last stream
// identifier." The round trip is measured by a PING.
type drainStage uint8

const (
	notDraining drainStage = iota
	announced              // the first GOAWAY is said, streams are still accepted
	drainOver              // so is the second, and none is
)

type exitStage uint8

const (
	staying  exitStage = iota
	leaving            // no new streams of ours; closes when the last one is gone
	farewell           // our last GOAWAY is queued
	gone               // all is said; only the closing is left
)

// duty is what the connection has to do after something happened: a set.
type duty uint8

const (
	sayAnnouncement duty = 1 << iota // the first GOAWAY of a drain, and its PING
	sayFarewell                      // our last GOAWAY: "Endpoints SHOULD always send a GOAWAY frame before closing a connection", section 6.8
	refuseWaiters                    // goroutines that wait to open a stream are refused
	part                             // close: nothing is left to be said
)

func (d duty) has(one duty) bool { return d&one != 0 }

// start is the beginning. ok is false if the connection was closed before. d has to be done once
// the preface is queued.
func (l *life) start() (d duty, ok bool) {
	if l.stage != Fresh {
		return 0, false
	}
	l.stage = running
	if l.drain == announced {
		d = sayAnnouncement
	}
	return d, true
}

// kill is the end, for whatever reason. It returns the stage that it ended: dead if it
// came too late to be the cause.
func (l *life) kill() (was Stage) {
	was, l.stage = l.stage, Dead
	return was
}

// silence follows a write that failed.
func (l *life) silence() { l.mute = true }

// drainable reports whether announce is still to come.
func (l *life) drainable() bool { return l.stage != Dead && l.drain == notDraining }

// announce is the first step of a drain. There is one at most.
func (l *life) announce() duty {
	if !l.drainable() {
		return 0
	}
	l.drain = announced
	if l.stage == Fresh {
		return 0
	}
	return sayAnnouncement
}

// endDrain is the second step: whatever is on its way has had its time. It comes more than
// once, from the PING's answer and from a timer, and once counts.
func (l *life) endDrain() duty {
	if l.stage != running || l.drain != announced {
		return 0
	}
	l.drain = drainOver
	d := refuseWaiters
	if l.exit < farewell {
		l.exit = farewell
		d |= sayFarewell
	}
	return d
}

// leave makes the connection end when its last stream has.
func (l *life) leave() duty {
	if l.stage == Dead {
		return 0
	}
	l.exit = max(l.exit, leaving)
	return refuseWaiters
}

// peerLeaves is the peer's GOAWAY.
//
// "Receivers of a GOAWAY frame MUST NOT open additional streams on the connection",
// section 6.8. A server opens none anyway, and its client still may.
func (l *life) peerLeaves(side Side) duty {
	l.peerLeft = true
	if side == Server {
		return 0
	}
	return l.leave()
}

// admit begins the reader's decision about a stream that the peer opens, decided ends it.
// A GOAWAY that is said in between names the stream as accepted, so that the connection
// must not part before the stream is in the table, or refused.
func (l *life) admit()   { l.admitting = true }
func (l *life) decided() { l.admitting = false }

// finish goes on with the exit when nothing is left to do. It is called whenever that may be
// so, with how many streams are open, and whether something is still to be written.
func (l *life) finish(streams int, unsent bool) duty {
	if l.stage != running || l.admitting || streams > 0 {
		return 0
	}
	switch l.exit {
	case leaving:
		l.exit = farewell
		return sayFarewell
	case farewell:
		if unsent {
			return 0
		}
		l.exit, l.mute = gone, true // what the rest of the input causes is not sent
		return part
	}
	return 0
}

// breakOff ends the conversation because the peer broke a rule. can reports whether the
// peer can be told so, said whether a farewell has named it a last stream before.
func (l *life) breakOff() (can, said bool) {
	if l.stage == Dead || l.mute {
		return false, false
	}
	said = l.exit == farewell
	l.exit = gone // no new streams, and no farewell but this
	return true, said
}

// opens reports whether we may open a stream, ids and the peer's limit aside.
func (l *life) opens() bool {
	return l.stage != Dead && l.drain == notDraining && l.exit == staying && !l.mute
}

// takesNone reports whether our last GOAWAY is said: a stream that the peer opens after
// that is above the last one it named.
func (l *life) takesNone() bool { return l.exit >= farewell }

func (l *life) dead() bool { return l.stage == Dead }
