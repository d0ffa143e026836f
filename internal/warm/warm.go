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
// # What a goroutine carries
//
// All that one task can leave to the next on its goroutine, or that the goroutine has of the one that
// started it, and what becomes of it:
//
//   - Profiler labels, and what was said with debug.SetPanicOnFault, are taken back.
//   - A thread lock (runtime.LockOSThread without its counterpart) can't be taken back, as nobody but
//     the task knows how often it was called, and must not be: the thread may have been changed, and is
//     to end. The heading of runtime.Stack tells of it, in more time than a new goroutine takes. So a
//     worker asks itself every [lockLook] tasks, and ends where it is locked, and the thread with
//     it; until then the next tasks get the thread as it is. A task that must not leave
//     its thread to others has to use a goroutine that it starts, or call runtime.Goexit.
//   - That FIPS 140-3 is not enforced (fips140.WithoutEnforcement), which goroutines inherit for their
//     life: a worker that began so ends after its first task.
//   - Data independent timing (subtle.WithDataIndependentTiming, on arm64) is inherited in the same way.
//     It can be neither asked for nor taken back, and changes nothing but speed.
//   - The number of the goroutine, and what programs keep by it; its "created by" in stack traces, which names
//     who needed a new worker; regions of runtime/trace that were begun and not ended. They stay. No
//     task may expect a number, or end a region of another one.
//   - The order of tasks, for the race detector: those of one goroutine do not race. In builds with it
//     each task has a goroutine of its own, so it sees what it would see of go statements. (Goroutines of
//     package park, which read a connection themselves at times, stay as they are.)
//   - Panics and deferred calls end with the task, or with the process; Goexit ends the worker. Bubbles of
//     testing/synctest have no workers. What runtime/secret erases is erased when its function returns.
//
// [Forbid], which GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES=false calls, gives each task a goroutine of its own.
//
// # What it buys
//
// Beside a go statement for each task: with 64 callers and calls of 128 bytes the
// server's processor time is half (6.3 us a call beside 13.1) and the rate half as much again
// (73,000 a second beside 52,000), as a handler's stack grows to 8 KiB each time; at half of
// what the machine can do 16 us beside 22. Calls of 8 KiB and streams don't show it.
package warm

import (
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc/internal/clock"
)

// apart is set where each task has a goroutine of its own.
var apart atomic.Bool

// Forbid has each task run on a goroutine of its own from here on.
func Forbid() { apart.Store(true) }

// Forbidden reports whether Forbid was called: then nobody may run a program's code on one goroutine after
// the other.
func Forbidden() bool { return apart.Load() }

// Go runs t on a warm goroutine, or on a new one where all are busy. It never
// blocks and never runs t on the caller's goroutine.
func Go(t Task) {
	if clock.InBubble() {
		go alone(t)
		return
	}
	GoOutside(t)
}

// GoOutside is Go for a caller that knows that it is in no bubble of testing/synctest: to find out
// takes 50 ns and more.
func GoOutside(t Task) {
	if raceDetector || apart.Load() {
		go alone(t)
		return
	}
	shared.run(t)
}

var shared = newPool(runtime.GOMAXPROCS(0))

// alone is a goroutine for one task.
func alone(t Task) {
	unlabel()
	t.Run()
}
