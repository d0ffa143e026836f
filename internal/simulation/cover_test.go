// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// point is something that a history may reach: a state, or a transition.
type point int

const (
	armed point = iota
	armRefused
	calmed
	eventTold
	eventTwice
	arrivedInPart
	endArrived
	readByReader
	readByProgram
	writeByTask
	writeByProgram
	writeWaits
	readInPlace
	closedWithInput
	goAwayHeard
	placesTold
	unparkable
	stoppedReading
	windowsCompared
	accountCompared
	idleChecked
	parkedBoth
	parkedLate
	ownerActs
	ownerWaits
	handshaken
	recordsSealed
	attemptFollows
	refusedDial
	resolvesAgain
	memberReady
	severalReady
	channelChecked
	progressChecked
	hedgeFollows
	hedgeCounts
	hedgeOutrun
	fdAgain
	namedPoints
)

var pointNames = [namedPoints]string{
	"a socket is armed", "arming is refused", "arming is taken back", "an event is told", "an event is told twice",
	"bytes arrive in part", "the end arrives", "a reader reads", "a program reads for itself", "a task writes", "a program writes",
	"a flusher's write", "DATA is read in place", "a close with unread input", "a client hears GOAWAY",
	"places are told", "a connection turns out to be unparkable", "a program stops reading",
	"windows are compared", "accounts are compared", "an idle connection is checked", "both ends are parked",
	"connections are parked that could not be",
	"an owner acts", "an owner waits for room", "TLS has shaken hands", "records of ALTS are sealed",
	"another attempt follows", "a server refuses a connection", "a resolver is asked again", "a subchannel is READY",
	"several subchannels are READY", "a channel is checked", "the progress of programs is checked", "a hedged call is sent again", "an attempt of a hedged call counts",
	"another attempt of a hedged call was first", "the number of a descriptor is used again",
}

const (
	frameTypes = 10
	statuses   = 17

	firstFault  = namedPoints
	firstStatus = firstFault + point(faultKinds)
	firstFrame  = firstStatus + statuses
	firstPair   = firstFrame + 2*frameTypes
	points      = firstPair + 2*frameTypes*frameTypes
)

var (
	whoReads  = [places]point{atTask: readByReader, atProgram: readByProgram}
	whoWrites = [places]point{atTask: writeByTask, atProgram: writeByProgram}
)

// coverage counts how often each point was reached.
type coverage [points]int

func (p point) String() string {
	sides := [2]string{"client", "server"}
	switch {
	case p < namedPoints:
		return pointNames[p]
	case p < firstStatus:
		return "fault: " + faultNames[p-firstFault]
	case p < firstFrame:
		return fmt.Sprintf("status %v", codes.Code(p-firstStatus))
	case p < firstPair:
		k := int(p - firstFrame)
		return fmt.Sprintf("%s writes %v", sides[k/frameTypes], frame.Type(k%frameTypes))
	}
	k := int(p - firstPair)
	return fmt.Sprintf("%s writes %v, then %v", sides[k/frameTypes/frameTypes], frame.Type(k/frameTypes%frameTypes), frame.Type(k%frameTypes))
}

var faultNames = [faultKinds]string{
	"time passes", "a direction stalls", "it goes on", "a connection is cut", "a half-close", "a cancellation",
	"an event in vain", "a stale event", "the server takes leave", "the server closes", "the client closes",
	"another connection", "the client takes leave", "a direction breaks",
	"several cancellations", "a server comes or goes", "the resolver finds others", "pauses are forgotten", "the channel closes",
}

// isWritten reports whether ends that are right write frames of a type: they give streams no priority, push
// nothing, and their field blocks are short.
func isWritten(t frame.Type) bool {
	return t != frame.Priority && t != frame.PushPromise && t != frame.Continuation
}

// mayFollow reports whether an end that is right may write a frame of type next behind one of type last.
func mayFollow(server bool, last, next frame.Type) bool {
	switch {
	case !isWritten(last) || !isWritten(next):
		return false
	case last != frame.GoAway:
		return true
	case server:
		// The first GOAWAY of a drain is queued with the PING behind it, and behind the second there is
		// none but to a client that breaks a rule.
		return next != frame.GoAway
	}
	// A client says it once, when it has no stream any more and opens none: what still comes is answers to
	// PINGs and SETTINGS, and windows.
	return next == frame.Ping || next == frame.Settings || next == frame.WindowUpdate
}

// possible reports whether a point can be reached by what is right. A history that reaches another one has
// failed.
func (p point) possible() bool {
	switch {
	case p < firstStatus:
		return true
	case p < firstFrame:
		switch codes.Code(p - firstStatus) {
		case codes.OK, codes.Canceled, codes.DeadlineExceeded, codes.NotFound, codes.PermissionDenied, codes.Internal, codes.Unavailable:
			return true
		}
		return false
	case p < firstPair:
		k := int(p - firstFrame)
		return isWritten(frame.Type(k % frameTypes))
	}
	k := int(p - firstPair)
	return mayFollow(k >= frameTypes*frameTypes, frame.Type(k/frameTypes%frameTypes), frame.Type(k%frameTypes))
}

// String lists the points, with how often they were reached.
func (c *coverage) String() string {
	var b strings.Builder
	for p := range points {
		if p.possible() || c[p] > 0 {
			fmt.Fprintf(&b, "  %12d  %v\n", c[p], p)
		}
	}
	return b.String()
}
