// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"runtime"
	"sync/atomic"
)

// Resting. A connection behind a wrapper with a Read of its own has to be waited for in that Read, by a
// goroutine: see readyreader. So in place of parking its reader gives back what the connection needs only while
// there is input, and waits with a small stack and a small buffer. Nobody takes it out of that wait. So if
// it waits with all that reading needs, and the sweeper finds it quiet, it is the sweeper that gives that
// back.
//
// Who may touch what the reader owns is decided by one word, as this table says; the sweeper writes what it
// finds, the reader what it does:
//
//	from      sweeper finds it quiet   reader waits, with all   reader has input
//	works     late                     waits                    -
//	late      -                        works: watched again     -
//	waits     slimming, slimmed        -                        works
//	slimming  -                        -                        waits for slimmed
//	slimmed   -                        -                        works: makes anew what it needs
//
// While it is slimming the sweeper owns what is the reader's, for a moment. The reader is woken by the Read
// alone, which comes back with input, an error, the end, or because the connection was closed: the sweeper
// neither starts nor ends a wait.

// errRests ends the frame loop of a reader that is to wait for input with nothing in hand.
var errRests = errors.New("rests")

// quietState is that word; or, of a connection that does not rest, whether the sweeper has found it quiet.
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

// rests reports whether the connection rests in place of parking.
func (l *quietState) rests() bool { return l.word.Load() >= works }

// Load reports whether a connection that does not rest is quiet, or the sweeper came late to one that does.
func (l *quietState) Load() bool { w := l.word.Load(); return w == quiet || w == late }

// Store is for connections that do not rest.
func (l *quietState) Store(is bool) {
	w := notQuiet
	if is {
		w = quiet
	}
	l.word.Store(w)
}

// take reports whether a connection that does not rest is quiet, which it is not any more then.
func (l *quietState) take() bool { return l.word.CompareAndSwap(quiet, notQuiet) }

// restIdle waits for input after park has given back what reading needs.
func (r *reader) restIdle() {
	r.wire.rest(r.core.Config(), true)
	r.activate(start)
}

// restBusy waits for input between two frames.
func (r *reader) restBusy() {
	w := &r.quiet.word
	for !w.CompareAndSwap(works, waits) { // the sweeper has taken it off its list
		w.Store(works)
		r.in.swept = false
		r.watch()
	}
	r.wire.rest(r.core.Config(), false)
	if w.CompareAndSwap(waits, works) {
		return
	}
	for w.Load() == slimming {
		runtime.Gosched() // it is about to be over
	}
	w.Store(works)
	r.activate(start)
}

// slimResting is the sweeper's: nothing has come for a while.
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
