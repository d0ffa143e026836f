// SPDX-License-Identifier: Apache-2.0

// Package warm runs short tasks on goroutines that are kept for the next task,
// so that a handler starts on a stack that has already grown.
//
// Idle goroutines are reused last in, first out: under light load the same few
// stay warm, and the others run out of work and end. Nothing is kept for long:
// a goroutine that saw no work for one to two [linger] periods ends, so a
// process whose connections are idle has no goroutine of this package.
//
// They are kept in shards, one for each processor, and nobody ever waits for one:
// who finds a shard in use takes another.
//
// A task finds a goroutine as good as new but for its stack: profiler labels
// that an earlier task set, or whoever called Go, are gone. What can't be taken
// back is runtime.LockOSThread, as nobody but the task knows how often it was
// called. A task must not end with the thread locked: the goroutine does not end
// then, as one of its own would, and the thread, with what was changed about it,
// goes to the next task. A task that wants the thread to end has to do its work
// on a goroutine that it starts, or call runtime.Goexit.
package warm

import (
	"runtime"
	"time"
)

// Go runs t on a warm goroutine, or on a new one where all are busy. It never
// blocks and never runs t on the caller's goroutine.
func Go(t Task) {
	if InBubble() {
		go t.Run()
		return
	}
	shared.run(t)
}

// InBubble reports whether the caller runs in a bubble of testing/synctest. What
// a whole process shares, goroutines and channels, must not be made or used
// there. Bubbles are told by their clock, which begins with the year 2000.
func InBubble() bool { return time.Now().Unix() < 1<<30 } // 2004

var shared = newPool(runtime.GOMAXPROCS(0))
