// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"context"
	"math/bits"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxShards bounds what is set up for a machine of many processors. Two of them that
	// share a shard are still no obstacle to each other.
	maxShards = 64
	// lookAround is how many shards are asked for an idle worker before a new one is made.
	lookAround = 4
)

// pool is the idle workers.
type pool struct {
	shards []shard   // a power of two of them
	near   sync.Pool // of *shard: a processor finds the one it used last
	turn   atomic.Uint32
}

func newPool(processors int) *pool {
	n := 1 << bits.Len(uint(min(processors, maxShards)-1))
	p := &pool{shards: make([]shard, n)}
	for i := range p.shards {
		p.shards[i].index = i
	}
	p.near.New = func() any { return p.shard(int(p.turn.Add(1))) }
	return p
}

// shard returns the i-th shard, counted round.
func (p *pool) shard(i int) *shard { return &p.shards[i&(len(p.shards)-1)] }

// here is the shard of the processor that the caller runs on, most of the time.
func (p *pool) here() *shard {
	s := p.near.Get().(*shard)
	p.near.Put(s)
	return s
}

func (p *pool) run(t Task) {
	s := p.here()
	w := s.pop()
	for i := 1; w == nil && i < min(lookAround, len(p.shards)); i++ {
		w = p.shard(s.index + i).pop()
	}
	if w == nil {
		go (&worker{home: s}).loop(p, t)
		return
	}
	w.home = s
	w.next <- t
}

// park has w wait in its home, or where there is nobody just then.
func (p *pool) park(w *worker) {
	for i := w.home.index; !p.shard(i).push(w); i++ {
		if i-w.home.index >= len(p.shards) {
			runtime.Gosched()
		}
	}
}

// shard is a stack of idle workers. Its lock is only ever tried, so that nobody waits.
type shard struct {
	index int // in the pool

	mu sync.Mutex
	// Guarded by mu.
	idle  []*worker // the last one became idle most recently
	low   int       // the fewest idle workers since the last sweep: they had nothing to do
	sweep *time.Timer
	armed bool

	_ [64]byte // the next shard is another processor's
}

// pop returns nil if there is no worker, or somebody else is here.
func (s *shard) pop() *worker {
	if !s.mu.TryLock() {
		return nil
	}
	n := len(s.idle) - 1
	if n < 0 {
		s.mu.Unlock()
		return nil
	}
	w := s.idle[n]
	s.idle[n] = nil
	s.idle = s.idle[:n]
	s.low = min(s.low, n)
	s.mu.Unlock()
	return w
}

// push fails if somebody else is here.
func (s *shard) push(w *worker) bool {
	if !s.mu.TryLock() {
		return false
	}
	s.idle = append(s.idle, w)
	if !s.armed {
		s.arm()
	}
	s.mu.Unlock()
	return true
}

// arm begins to sweep. It holds mu.
func (s *shard) arm() {
	s.armed = true
	s.low = 0
	if s.sweep == nil {
		s.sweep = time.AfterFunc(linger, s.trim)
		return
	}
	s.sweep.Reset(linger)
}

// trim ends the workers that nobody needed since the last trim: those at the
// bottom of the stack.
func (s *shard) trim() {
	for !s.mu.TryLock() {
		runtime.Gosched()
	}
	defer s.mu.Unlock()
	for _, w := range s.idle[:s.low] {
		w.next <- nil
	}
	rest := copy(s.idle, s.idle[s.low:])
	clear(s.idle[rest:])
	s.idle = s.idle[:rest]
	s.low = rest
	if rest == 0 {
		s.armed = false
		s.idle = nil
		return
	}
	s.sweep.Reset(linger)
}

// Task is one piece of work. The task runs to its end on one goroutine, which
// may be blocked for as long as the task likes.
type Task interface{ Run() }

// linger is how long an idle goroutine waits at least for another task.
const linger = 50 * time.Millisecond

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
