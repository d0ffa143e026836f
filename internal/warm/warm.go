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
// that an earlier task, or the caller of Go, set are gone, and so is what it said with
// debug.SetPanicOnFault. A goroutine carries nothing else of a program's, but for one thing that
// can't be taken back: runtime.LockOSThread, as nobody but the task knows how often it was
// called. A task must not end with the thread locked: the goroutine does not end
// then, as one of its own would, and the thread, with what was changed about it,
// goes to the next task. A task that wants the thread to end has to do its work
// on a goroutine that it starts, or call runtime.Goexit. (The heading of runtime.Stack tells that the
// thread is locked; that takes 5 us, more than a new goroutine.)
//
// What it buys, beside a go statement for each task: with 64 callers and calls of 128 bytes the
// server's processor time is half (6.3 us a call beside 13.1) and the rate half as much again
// (73,000 a second beside 52,000), as a handler's stack grows to 8 KiB each time; at half of
// what the machine can do 16 us beside 22. Calls of 8 KiB and streams don't show it.
package warm

import (
	"runtime"

	"google.golang.org/grpc/internal/clock"
)

// Go runs t on a warm goroutine, or on a new one where all are busy. It never
// blocks and never runs t on the caller's goroutine.
func Go(t Task) {
	if clock.InBubble() {
		go t.Run()
		return
	}
	shared.run(t)
}

// GoOutside is Go for a caller that knows that it is in no bubble of testing/synctest: to find out
// takes 50 ns and more.
func GoOutside(t Task) { shared.run(t) }

var shared = newPool(runtime.GOMAXPROCS(0))
