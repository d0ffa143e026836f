// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"runtime"
	"sync/atomic"
)

// Resting. Input of a connection behind a wrapper with a Read of its own must be waited for in that
// Read, by a goroutine: see readyreader. So instead of parking, the reader of such a connection gives
// back what it needs only while there is input, and waits with a small stack and a small buffer. Nobody
// can interrupt that wait. So if the reader waits while it still has everything that reading needs, and
// the sweeper finds the connection quiet, then the sweeper gives these things back.
//
// One word decides whether the reader or the sweeper may use what the reader owns. This table shows its
// transitions. The sweeper makes those in the first column, the reader the others:
//
//	from      sweeper finds it quiet   reader waits, with all   reader has input
//	works     late                     waits                    -
//	late      -                        works: watched again     -
//	waits     slimming, slimmed        -                        works
//	slimming  -                        -                        waits for slimmed
//	slimmed   -                        -                        works: makes anew what it needs
//
// While the word is slimming, the sweeper owns what belongs to the reader, for a moment. Only the Read
// wakes the reader: it returns with input, an error, or the end, or because the connection was closed.
// The sweeper neither begins nor ends a wait.

// errRests ends the frame loop of a reader that has given back everything and has to wait for input in
// restIdle.
var errRests = errors.New("rests")

// quietState is the word of the table above. For a connection that does not rest, it only says whether
// the sweeper has found the connection quiet.
type quietState struct{ word atomic.Uint32 }

const (
	notQuiet uint32 = iota
	quiet
	works
	late
	waits
	slimming
	slimmed
)

// rests reports whether the connection rests instead of being parked.
func (l *quietState) rests() bool { return l.word.Load() >= works }

// Load reports whether the sweeper has found the connection quiet. For a connection that rests, that
// counts only if its reader was at work then.
func (l *quietState) Load() bool { w := l.word.Load(); return w == quiet || w == late }

// Store says whether a connection is quiet. It is only for connections that do not rest.
func (l *quietState) Store(is bool) {
	w := notQuiet
	if is {
		w = quiet
	}
	l.word.Store(w)
}

// take reports whether the sweeper has found the connection quiet, and clears that. It is false for a
// connection that rests.
func (l *quietState) take() bool { return l.word.CompareAndSwap(quiet, notQuiet) }

// restIdle waits for input after park has given back what reading needs.
func (r *reader) restIdle() {
	r.wire.rest(r.core.Config(), true)
	r.activate(start)
}

// restBusy waits for input between two frames, with everything that reading needs.
func (r *reader) restBusy() {
	w := &r.quiet.word
	for !w.CompareAndSwap(works, waits) { // the sweeper has set late, and does not watch the connection any more
		w.Store(works)
		r.in.swept = false
		r.watch()
	}
	r.wire.rest(r.core.Config(), false)
	r.endRest()
}

// endRest takes back what belongs to the reader, and makes anew what was given back.
func (r *reader) endRest() {
	w := &r.quiet.word
	if w.CompareAndSwap(waits, works) {
		return
	}
	for w.Load() == slimming {
		runtime.Gosched() // slimming takes only a moment
	}
	w.CompareAndSwap(slimmed, works)
	if r.in.act == nil {
		r.activate(start)
	}
}

// slimResting is called by the sweeper when a resting connection had no input for a while. If its
// reader waits, slimResting gives back what reading needs.
func (r *reader) slimResting() {
	w := &r.quiet.word
	for !w.CompareAndSwap(waits, slimming) {
		switch w.Load() {
		case works:
			if w.CompareAndSwap(works, late) {
				return // the reader is at work, and will see it
			}
		case late, slimming, slimmed:
			return
		}
	}
	r.in.predictor.recordMiss()
	r.slim()
	r.traceRest()
	w.Store(slimmed)
}

func (r *reader) traceRest() {
	if r.tracer() != nil {
		(*Conn)(r).traceEvent("rests", "")
	}
}

// rest waits for input in the connection's Read.
func (w *wire) rest(cfg *Config, idle bool) {
	w.WaitInRead(idle, cfg.Pool)
}
