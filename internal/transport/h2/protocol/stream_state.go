// SPDX-License-Identifier: Apache-2.0

package protocol

// streamState is the state of one stream, RFC 9113 section 5.1. The reserved states are left out: push
// is disabled on every connection of ours, so nothing can be reserved.
//
// Each half-closed state is one bit of the same number. So a stream is closed when both bits are set,
// without a table.
type streamState uint8

const (
	stateIdle   streamState = 0
	stateOpen   streamState = 1 << 2
	localEnded  streamState = 1 << 0
	remoteEnded streamState = 1 << 1
	stateClosed streamState = stateOpen | localEnded | remoteEnded

	stateHalfClosedLocal  = stateOpen | localEnded
	stateHalfClosedRemote = stateOpen | remoteEnded
)

func (s streamState) String() string {
	switch s {
	case stateIdle:
		return "idle"
	case stateOpen:
		return "open"
	case stateHalfClosedLocal:
		return "half-closed (local)"
	case stateHalfClosedRemote:
		return "half-closed (remote)"
	case stateClosed:
		return "closed"
	}
	return "invalid"
}

// streamEvent is what can happen to a stream.
type streamEvent uint8

const (
	sendHeaders streamEvent = iota // HEADERS without END_STREAM
	recvHeaders
	sendData
	recvData
	sendEnd // END_STREAM, on HEADERS or DATA
	recvEnd
	sendReset
	recvReset
	lose // the connection is gone, or the peer's GOAWAY says that it did not process the stream
)

// next returns the state after ev. ok is false where RFC 9113 section 5.1 does not allow ev in s. The
// state is unchanged then, and the caller decides whether that is a mistake of ours or of the peer's.
func (s streamState) next(ev streamEvent) (_ streamState, ok bool) {
	switch ev {
	case sendHeaders, sendData:
		return s.keepOpen(ev == sendHeaders, localEnded)
	case recvHeaders, recvData:
		return s.keepOpen(ev == recvHeaders, remoteEnded)
	case sendEnd:
		return s.end(localEnded)
	case recvEnd:
		return s.end(remoteEnded)
	}
	// sendReset, recvReset and lose end the stream.
	if s == stateIdle {
		// "RST_STREAM frames MUST NOT be sent for a stream in the 'idle'
		// state", section 6.4.
		return s, false
	}
	return stateClosed, true
}

// keepOpen is the transition for a frame that does not end the stream. HEADERS may open it.
func (s streamState) keepOpen(opens bool, ended streamState) (streamState, bool) {
	if s == stateIdle {
		if opens {
			return stateOpen, true
		}
		return s, false
	}
	return s, s&ended == 0
}

// end is the transition for END_STREAM. ended is the bit of the side that sent it. The same HEADERS
// frame may open an idle stream and end one side of it.
func (s streamState) end(ended streamState) (streamState, bool) {
	if s&ended != 0 {
		return s, false
	}
	return s | stateOpen | ended, true
}

func (s streamState) canSend() bool { return s != stateIdle && s&localEnded == 0 }
func (s streamState) canRecv() bool { return s != stateIdle && s&remoteEnded == 0 }
