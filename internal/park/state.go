// SPDX-License-Identifier: Apache-2.0

package park

import "errors"

// Errors of Park. With each of them the caller still is the reader.
var (
	// ErrUnsupported: this connection can't be waited for without a goroutine.
	ErrUnsupported = errors.New("park: not supported for this connection")
	// ErrClosed: the handle was closed while its reader was at work.
	ErrClosed = errors.New("park: handle is closed")
	// ErrKicked: there was a Kick since the last Park that succeeded; look at
	// what the kicker may have left, and park again.
	ErrKicked = errors.New("park: kicked")
	// ErrParked: the caller of Park was not the reader, which is a mistake.
	ErrParked = errors.New("park: already parked")
)

// word is the whole state of a handle: a state in the low bits and, while the handle is parked, the
// generation of the arming that may wake it. Its methods return what the word becomes; the goroutine that
// swaps that in has made the transition.
//
//	from    park(g)    wake(g)            kick      take      close
//	active  parked(g)  -                  noted     -         closed
//	noted   active(*)  -                  -         -         closed
//	parked  error      active if g is it  active    active    closed; the closer runs the exit path
//	closed  error      -                  -         -         -
//
// "-" changes nothing and confers no role. (*) Park fails with ErrKicked.
type word uint64

const (
	active word = iota
	noted       // active, and a Kick wants the reader to look again
	parked
	closed

	stateBits = 2
	stateMask = 1<<stateBits - 1
)

func parkedAs(gen uint32) word { return word(gen)<<stateBits | parked }

func (w word) state() word { return w & stateMask }

// gen returns the generation of a parked word's arming.
func (w word) gen() uint32 { return uint32(w >> stateBits) }

func (w word) park(gen uint32) (word, error) {
	switch w.state() {
	case active:
		return parkedAs(gen), nil
	case noted:
		return active, ErrKicked
	case parked:
		return w, ErrParked
	}
	return w, ErrClosed
}

// wake is for the event of one arming; won means that it confers the role.
func (w word) wake(gen uint32) (next word, won bool) {
	if w == parkedAs(gen) {
		return active, true
	}
	return w, false
}

func (w word) kick() (next word, won bool) {
	switch w.state() {
	case active:
		return noted, false
	case parked:
		return active, true
	}
	return w, false
}

func (w word) take() (next word, won bool) {
	if w.state() == parked {
		return active, true
	}
	return w, false
}

func (w word) close() (next word, wasParked bool) {
	return closed, w.state() == parked
}
