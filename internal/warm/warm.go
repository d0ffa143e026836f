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
	"context"
	"runtime"
	"runtime/pprof"
	"time"
)

// Task is one piece of work. The task runs to its end on one goroutine, which
// may be blocked for as long as the task likes.
type Task interface{ Run() }

// linger is how long an idle goroutine waits at least for another task.
const linger = 50 * time.Millisecond

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

// worker is one goroutine; next hands it its following task, nil to end. It has none
// before it is idle: many never are.
type worker struct {
	next chan Task
	home *shard // where it was taken from, and goes when it is idle
}

func (w *worker) loop(p *pool, t Task) {
	unlabel() // a new goroutine has those of the one that started it
	for t != nil {
		t.Run()
		t = nil // an idle goroutine must not keep the last task alive
		unlabel()
		if w.next == nil {
			w.next = make(chan Task, 1)
		}
		p.park(w)
		t = w.wait()
	}
}

// unlabel takes the profiler labels off the goroutine, in 4 ns.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// ballast is how deep the stack of an idle worker looks.
type ballast [1536]byte

// wait takes the next task, with so much of the stack in use that the garbage collector,
// which halves a stack of which less than a quarter is, leaves it as it has grown: the next
// task would only have to grow it again. What is in use is room for an argument of a call
// that is never made; a variable would be cleared each time.
//
//go:noinline
func (w *worker) wait() Task {
	if w.next == nil {
		w.weigh(ballast{})
	}
	return <-w.next
}

//go:noinline
func (w *worker) weigh(ballast) { panic("warm: a worker without a channel waits") }
