// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/warm"
)

// world is all that a history has.
type world struct {
	c      *chooser
	begin  func(*world) // chooses what the history is about; nil: at random
	swarm  swarm
	kernel *kernel
	ground *park.Ground
	pool   *pool
	host   *transport.ServerHost
	client transport.ClientConfig
	places int // how many streams a connection may have; 0: any number

	links    []*link
	calls    []*call
	balanced *balanced // makes the links; nil: the history does
	fds      []fdUse   // by number

	mu      sync.Mutex // guards the list, and who is at work where two are
	waiting []*waiter
	spare   []*waiter // have gone on
	current place     // of the one who goes on: where it began
	free    bool      // the history is over: nobody stops any more

	scratch  []byte
	steps    int
	sum      uint64        // of what has happened
	passed   time.Duration // by the clock's steps
	faults   int           // how many are left
	settling bool
	failure  string
	verbose  bool
	history  []string
	points   *coverage
}

// place is where a goroutine stops.
type place uint8

const (
	atTask place = iota
	atProgram
	atTryRead
	atRead
	atTryWrite
	atWrite
	places
)

var placeNames = [places]string{"a task", "a program", "a look for input", "a read", "an attempt to write", "a write"}

// waiter is a goroutine that stands still.
type waiter struct {
	at   place
	role place // atTask or atProgram: whose goroutine it is
	s    *socket
	when func() bool // it cannot go on before
	task warm.Task   // it has not begun; nil: it has
	what string
	ch   chan struct{}
}

// ready reports whether it can go on.
func (x *waiter) ready() bool {
	switch {
	case x.when != nil:
		return x.when()
	case x.at == atRead:
		return x.s.readable()
	case x.at == atWrite:
		return x.s.writable()
	}
	return true
}

func (w *world) role() place { return w.current }

// yield stops until a step has it go on.
func (w *world) yield(at place, s *socket) { w.await(at, s, nil) }

// await stops until when reports true, or until a socket can be read or written, and until a step has it go on.
func (w *world) await(at place, s *socket, when func() bool) {
	w.mu.Lock()
	x := w.spareWaiter()
	x.at, x.s, x.when = at, s, when
	if w.free && x.ready() {
		w.mu.Unlock()
		return
	}
	if at == atProgram {
		w.current = atProgram
	}
	x.role = w.current
	w.waiting = append(w.waiting, x)
	w.mu.Unlock()
	<-x.ch
}

func (w *world) spareWaiter() *waiter {
	if n := len(w.spare); n > 0 {
		x := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return x
	}
	return &waiter{ch: make(chan struct{}, 1)}
}

// start has a task wait for its beginning.
func (w *world) start(t warm.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free {
		go t.Run()
		return
	}
	w.waiting = append(w.waiting, &waiter{at: atTask, role: atTask, task: t})
}

// program has a function of a program wait for its beginning.
func (w *world) program(what string, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free {
		go f()
		return
	}
	w.waiting = append(w.waiting, &waiter{at: atProgram, role: atProgram, task: program(f), what: what})
}

type program func()

func (f program) Run() { f() }

// resume has the i-th of those who wait go on, until it waits again.
func (w *world) resume(i int) {
	x := w.waiting[i]
	w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
	w.current = x.role
	w.publish()
	if x.task != nil {
		if w.verbose {
			w.note(nil, "begins: %s", begins{x})
		}
		go begin(x.task)
		synctest.Wait()
		return
	}
	if w.verbose {
		w.note(x.s, "goes on: %s", placeNames[x.at])
	}
	x.ch <- struct{}{}
	synctest.Wait()
	w.spare = append(w.spare, x) // it was told
}

// begin runs a task. Its stack grows before there is anything on it, so that nothing need be moved later.
func begin(t warm.Task) {
	grow()
	t.Run()
}

//go:noinline
func grow() {
	var frame [stackBytes]byte
	keep(&frame)
}

//go:noinline
func keep(*[stackBytes]byte) {}

const stackBytes = 3 << 10

type begins struct{ *waiter }

func (b begins) String() string {
	if b.what != "" {
		return b.what
	}
	return fmt.Sprintf("%T", b.task)
}

// publish has all others see what was done so far. The world's own goroutine does without the lock
// otherwise, as it is at work only while all others stand still.
func (w *world) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
}

// settled lets all others go on until they stand still.
func (w *world) settled() {
	w.publish()
	synctest.Wait()
}

// note writes a line of the history.
func (w *world) note(s *socket, format string, args ...any) {
	if !w.verbose {
		return
	}
	who := ""
	if s != nil {
		who = s.name + " "
	}
	w.history = append(w.history, fmt.Sprintf("%4d %8s %s", w.steps, time.Since(epoch), who)+fmt.Sprintf(format, args...))
}

// epoch is when the clock of a bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fail ends the history. The first failure counts.
func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.note(nil, "FAILED: %s", w.failure)
	}
}

func (w *world) reach(p point) { w.points[p]++ }

// visit is reach for a point that may be one which nobody is to reach.
func (w *world) visit(p point) {
	w.reach(p)
	if !p.possible() && !w.mayOverflow() { // one end may complain of the other then
		w.fail("%v", p)
	}
}

// option is something that can happen now.
type option struct {
	kind optionKind
	i    int
	s    *socket
}

type optionKind uint8

const (
	optResume optionKind = iota
	optArrive
	optEvent
)

// options are the regular ones: nothing of them is a fault.
func (w *world) options(list []option) []option {
	for i, x := range w.waiting {
		if x.ready() {
			list = append(list, option{kind: optResume, i: i})
		}
	}
	for _, l := range w.links {
		for _, s := range l.ends() {
			if s.closed {
				continue
			}
			if (s.input.flight() > 0 || s.fin && !s.ended) && !s.stalled {
				list = append(list, option{kind: optArrive, s: s})
			}
			if _, ok := w.kernel.armed[s.fd]; ok && s.hasEvent() {
				list = append(list, option{kind: optEvent, s: s})
			}
		}
	}
	return list
}

// do has an option happen.
func (w *world) do(o option) {
	w.steps++
	w.sum = w.sum*31 + uint64(o.kind)<<8 + uint64(o.i) + uint64(len(w.waiting))<<16
	switch o.kind {
	case optResume:
		w.resume(o.i)
	case optArrive:
		w.arrive(o.s)
	case optEvent:
		w.note(o.s, "has an event")
		w.reach(eventTold)
		w.kernel.tell(o.s.fd)
		if w.swarm.has(doubleEvents) && w.c.rarely(3) {
			w.reach(eventTwice)
			w.kernel.events <- w.kernel.stale[len(w.kernel.stale)-1]
		}
		w.settled()
	}
}

// arrive has bytes arrive, and the end behind them.
func (w *world) arrive(s *socket) {
	n := s.input.flight()
	if n > 1 && w.swarm.has(cutsBytes) && !w.settling && !w.c.rarely(3) {
		n -= w.c.pick(n)
		w.reach(arrivedInPart)
	}
	s.input.arrived += n
	w.note(s, "is reached by %d bytes, %d are on their way", n, s.input.flight())
	if s.input.flight() == 0 && s.fin && !s.ended && (n == 0 || w.c.pick(2) == 0) {
		s.ended = true
		w.note(s, "is reached by the end")
		w.reach(endArrived)
	}
}

// maxSteps bounds a history.
const maxSteps = 20000

// run has steps happen until there is nothing left to do without the clock. With faults it has
// those happen in between, and lets time pass.
func (w *world) run(faults bool) {
	var list []option
	w.settled()
	for w.failure == "" {
		list = w.options(list[:0])
		if faults && w.faults > 0 && w.c.rarely(12) {
			w.steps++
			w.faults--
			w.fault()
			w.settled()
			continue
		}
		if len(list) == 0 {
			w.checkQuiet()
			if !faults || w.faults == 0 {
				return
			}
			w.steps++
			w.faults--
			w.fault()
			w.settled()
			continue
		}
		w.do(list[w.c.pick(len(list))])
		if w.steps > maxSteps {
			w.fail("there is no end: %d steps", w.steps)
		}
	}
}

// runUntil has regular steps happen, the first that there is each time.
func (w *world) runUntil(done func() bool) {
	synctest.Wait()
	for w.failure == "" && !done() {
		list := w.options(nil)
		if len(list) == 0 {
			return
		}
		w.do(list[0])
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.note(nil, "%v pass", d)
	w.current = atTask
	w.passed += d
	w.publish()
	time.Sleep(d)
	synctest.Wait()
}
