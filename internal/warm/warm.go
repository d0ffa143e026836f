// SPDX-License-Identifier: Apache-2.0

// Package warm runs short tasks on goroutines that are kept for the next task,
// so that a handler starts on a stack that has already grown.
//
// Idle goroutines are reused last in, first out: under light load the same few
// stay warm, and the others run out of work and end. Nothing is kept for long:
// a goroutine that saw no work for one to two [linger] periods ends, so a
// process whose connections are idle has no goroutine of this package.
//
// They are kept in shards, one for each processor, and no goroutine ever waits for a shard: if it finds one
// in use, it takes another.
//
// # What a goroutine carries
//
// This list has everything that one task can leave to the next on its goroutine, and that the goroutine
// inherits from the one that started it:
//
//   - Profiler labels, and the setting of debug.SetPanicOnFault, are taken back.
//   - A thread lock (runtime.LockOSThread without its counterpart) can't be taken back, because only the
//     task knows how often it was called. Nor may it be: the task may have changed the thread, which then
//     has to end. The heading of runtime.Stack shows the lock, but that takes more time than a new
//     goroutine. So a worker checks every [lockLook] tasks whether it is locked, and if so it ends, and the
//     thread with it. Until then the next tasks get the thread as it is. A task that must not leave its
//     thread to others has to use a goroutine that it starts, or call runtime.Goexit.
//   - Exemption from FIPS 140-3 (fips140.WithoutEnforcement), which goroutines inherit for their life: a
//     worker that began with it ends after its first task.
//   - Data independent timing (subtle.WithDataIndependentTiming, on arm64) is inherited in the same way. It
//     can be neither asked for nor taken back, and changes nothing but speed.
//   - The number of the goroutine, and what programs keep under that; its "created by" in stack traces,
//     which names the goroutine that needed a new worker; regions of runtime/trace that were begun and not
//     ended. These stay. No task may expect a certain number, or end a region of another task.
//   - The order of tasks, for the race detector: tasks on one goroutine do not race. So in builds with the
//     detector each task has a goroutine of its own, and the detector sees what it would see of go
//     statements. (Goroutines of package park, which read a connection themselves at times, stay as they
//     are.)
//   - Panics and deferred calls end with the task, or with the process; Goexit ends the worker. Bubbles of
//     testing/synctest have no workers. What runtime/secret erases is erased when its function returns.
//
// [Forbid], which GRPC_GO_EXPERIMENTAL_REUSE_GOROUTINES=false calls, gives each task a goroutine of its
// own.
//
// # What it buys
//
// Compared with a go statement for each task, with 64 callers and calls of 128 bytes, the server takes half
// the processor time (6.3 us a call instead of 13.1) and the rate is half as much again (73,000 a second
// instead of 52,000), because a new goroutine's stack grows to 8 KiB for each handler. At half of what the
// machine can do, a call takes 16 us instead of 22. Calls of 8 KiB and streams show no difference.
package warm

import (
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc/internal/clock"
)

// apart says that each task has a goroutine of its own.
var apart atomic.Bool

// Forbid makes each task run on a goroutine of its own from now on.
func Forbid() { apart.Store(true) }

// Forbidden reports whether Forbid was called. If so, no goroutine may run programs' code for several
// owners, one after the other.
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

// alone is the whole of a goroutine for one task.
func alone(t Task) {
	unlabel()
	t.Run()
}
