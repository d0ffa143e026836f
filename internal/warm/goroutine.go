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

// Goroutine is a goroutine that runs tasks of several owners, one after the other. Only that goroutine
// calls the methods.
type Goroutine struct {
	exempt bool // from FIPS 140-3, for its whole life
	over   bool
	tasks  int
}

// Begin is called first on a new goroutine. It removes what that has inherited from the one that started
// it.
func Begin() Goroutine {
	unlabel()
	return Goroutine{exempt: isExempt()}
}

// Next is called after each task. It undoes what the task has set for the goroutine. It reports whether
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

// Fresh runs f on a new goroutine that serves the whole process. That inherits nothing from the caller
// except what Begin removes.
func Fresh(f func()) {
	if isExempt() {
		time.AfterFunc(0, f) // the runtime starts that goroutine
		return
	}
	go f()
}

// lockLook is the number of tasks after which a goroutine checks whether one of them has left its thread
// locked.
const lockLook = 256

// isLocked reports whether the goroutine is locked to its thread, in a few us.
func isLocked() bool {
	var b [128]byte
	heading, _, _ := bytes.Cut(b[:runtime.Stack(b[:], false)], []byte("\n"))
	return bytes.Contains(heading, []byte("locked to thread"))
}

// enforced reports whether the process does only what FIPS 140-3 approves.
var enforced = fips140.Enforced()

// isExempt reports whether FIPS 140-3 is not enforced for the goroutine, because it, or one of its
// ancestors, runs within fips140.WithoutEnforcement.
func isExempt() bool { return enforced && !fips140.Enforced() }

// unlabel takes the profiler labels off the goroutine, in 4 ns.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }
