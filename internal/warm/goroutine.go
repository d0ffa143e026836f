// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"bytes"
	"context"
	"crypto/fips140"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"
)

// Goroutine is one that runs tasks of several owners, one after the other. Its methods are for that
// goroutine alone.
type Goroutine struct {
	exempt bool // from FIPS 140-3, for its whole life
	over   bool
	tasks  int
}

// Begin comes first on a goroutine: it takes off what that has of the one that started it.
func Begin() Goroutine {
	unlabel()
	return Goroutine{exempt: isExempt()}
}

// Next follows each task: it takes back what the task has said of the goroutine. It reports whether
// another task may follow; if not, the goroutine has to end.
func (g *Goroutine) Next() bool {
	unlabel()
	debug.SetPanicOnFault(false)
	g.tasks++
	g.over = g.exempt || g.tasks%lockLook == 0 && isLocked()
	return !g.over
}

// Over reports whether the goroutine has to end.
func (g *Goroutine) Over() bool { return g.over }

// Fresh runs f on a new goroutine that serves the whole process: it has nothing of the caller's but
// what Begin takes off.
func Fresh(f func()) {
	if isExempt() {
		time.AfterFunc(0, f) // it is the runtime that starts that
		return
	}
	go f()
}

// lockLook is after how many tasks a goroutine asks whether one of them has left its thread locked.
const lockLook = 256

// isLocked reports whether the goroutine is locked to its thread, in a few us.
func isLocked() bool {
	var b [128]byte
	heading, _, _ := bytes.Cut(b[:runtime.Stack(b[:], false)], []byte("\n"))
	return bytes.Contains(heading, []byte("locked to thread"))
}

// enforced reports whether the process does only what FIPS 140-3 approves.
var enforced = fips140.Enforced()

// isExempt reports whether the goroutine need not, as it, or one of its ancestors, runs within
// fips140.WithoutEnforcement.
func isExempt() bool { return enforced && !fips140.Enforced() }

// unlabel takes the profiler labels off the goroutine, in 4 ns.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }
