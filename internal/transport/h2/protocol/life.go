// SPDX-License-Identifier: Apache-2.0

package protocol

// life is the state of a connection from its start to its end. Its methods are the events. They change
// the state, and return what the connection has to do next. Pure.
//
// Three things proceed independently, each in one direction only:
//
//	stage   fresh -> running -> dead                  (fresh -> dead: closed before Start)
//	drain   notDraining -> announced -> answered -> drainOver     Drain's two GOAWAYs
//	exit    staying -> leaving -> farewell -> gone    how far we are on the way out
//
// "The server connection preface consists of a potentially empty SETTINGS frame that MUST be the first
// frame the server sends", RFC 9113 section 3.4. So while the connection is fresh, a drain and an exit
// are recorded, and nothing is sent. start and finish then do what is left to do.
//
// The exit begins with Retire, with the second step of a drain, with the peer's GOAWAY, or when the
// stream ids are used up. From leaving on we open no stream. Once no stream is open, the farewell is
// queued: our last GOAWAY. Once that is written we are gone, and only closing the connection is left.
// If the peer breaks a rule, we tell it so in a GOAWAY, and are gone at once.
type life struct {
	stage Stage
	drain drainStage
	exit  exitStage

	peerLeft  bool // the peer said GOAWAY
	admitting bool // the reader decides about a stream that the last id includes and the table does not yet
	mute      bool // nothing is written any more; the write token is never given back
}

// Stage is the first of the three parts of life.
type Stage uint8

// The stages.
const (
	Fresh   Stage = iota // Start was not called yet
	running              // the connection has a reader, or is parked
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
	announced              // the first GOAWAY is queued, and streams are still accepted
	answered               // so is it now, but the peer has answered the PING
	drainOver              // the second GOAWAY is queued, and no stream is accepted any more
)

type exitStage uint8

const (
	staying  exitStage = iota
	leaving            // we open no streams; the connection closes when the last stream is gone
	farewell           // our last GOAWAY is queued
	gone               // everything is written; only closing the connection is left
)

// duty is a set of things that the connection has to do after an event.
type duty uint8

const (
	sayAnnouncement duty = 1 << iota // the first GOAWAY of a drain, and its PING
	sayFarewell                      // our last GOAWAY: "Endpoints SHOULD always send a GOAWAY frame before closing a connection", section 6.8
	refuseWaiters                    // goroutines that wait to open a stream are refused
	part                             // close the connection: nothing is left to send
)

func (d duty) has(one duty) bool { return d&one != 0 }

// start is the event that Start was called. ok is false if the connection was closed before. The caller
// does d once it has queued the preface.
func (l *life) start() (d duty, ok bool) {
	if l.stage != Fresh {
		return 0, false
	}
	l.stage = running
	return l.announcement(), true
}

// kill ends the connection, for whatever reason. It returns the stage before. That was Dead if the
// connection had ended already, for another reason.
func (l *life) kill() (was Stage) {
	was, l.stage = l.stage, Dead
	return was
}

// silence is the event that a write has failed.
func (l *life) silence() { l.mute = true }

// drainable reports whether announce would begin a drain.
func (l *life) drainable() bool { return l.stage != Dead && l.drain == notDraining }

// announce is the first step of a drain. It does something once at most.
func (l *life) announce() duty {
	if !l.drainable() {
		return 0
	}
	l.drain = announced
	return l.announcement()
}

// announcement is what there is to say once a drain is announced.
//
// "Endpoints MUST NOT increase the value they send in the last stream identifier", RFC 9113 section 6.8: after our
// last GOAWAY there is no announcement.
func (l *life) announcement() duty {
	if l.stage != running || l.drain != announced || l.exit >= farewell {
		return 0
	}
	return sayAnnouncement
}

// pong is the event that the peer has answered the PING of a drain. first is true for the first answer:
// a moment later endDrain is due.
func (l *life) pong() (first bool) {
	if l.drain != announced {
		return false
	}
	l.drain = answered
	return true
}

// endDrain is the second step of a drain: streams that were on their way have had their time. Both the
// PING's answer and a timer lead to it, so it may be called more than once, and only the first call
// counts.
func (l *life) endDrain() duty {
	if l.stage != running || l.drain != announced && l.drain != answered {
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

// leave makes the connection end when its last stream has ended.
func (l *life) leave() duty {
	if l.stage == Dead {
		return 0
	}
	l.exit = max(l.exit, leaving)
	return refuseWaiters
}

// peerLeaves is the event that the peer has sent GOAWAY.
//
// "Receivers of a GOAWAY frame MUST NOT open additional streams on the connection", section 6.8. A
// server opens none anyway, and its client still may.
func (l *life) peerLeaves(side Side) duty {
	l.peerLeft = true
	if side == Server {
		return 0
	}
	return l.leave()
}

// admit begins the reader's decision about a stream that the peer opens, and decided ends it. A GOAWAY
// that is queued in between names the stream as accepted. So the connection must not close before the
// stream is in the table, or refused.
func (l *life) admit()   { l.admitting = true }
func (l *life) decided() { l.admitting = false }

// finish continues the exit if nothing else is left to do. It is called whenever that may be the case.
// streams is how many streams are open, and unsent says whether output is still to be written.
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

// breakOff ends the connection because the peer broke a rule. can reports whether the peer can still be
// told. said reports whether a farewell has already named a last stream.
func (l *life) breakOff() (can, said bool) {
	if l.stage == Dead || l.mute {
		return false, false
	}
	said = l.exit == farewell
	l.exit = gone // no new streams, and no farewell except this GOAWAY
	return true, said
}

// opens reports whether we may open a stream, apart from stream ids and the peer's limit.
func (l *life) opens() bool {
	return l.stage != Dead && l.drain == notDraining && l.exit == staying && !l.mute
}

// takesNone reports whether our last GOAWAY is queued. A stream that the peer opens after that is above
// the last stream that the GOAWAY named.
func (l *life) takesNone() bool { return l.exit >= farewell }

func (l *life) dead() bool { return l.stage == Dead }
