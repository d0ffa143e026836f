// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxShards bounds what is set up for a machine with many processors. Two processors that share a shard
	// hardly get into each other's way.
	maxShards = 64
	// lookAround is how many shards are asked for an idle worker before a new one is made.
	lookAround = 4
	// rounds is how many times a worker looks at all shards for a seat.
	rounds = 3
)

// pool has the idle workers.
type pool struct {
	shards []shard   // a power of two of them
	near   sync.Pool // of *shard: a processor finds the one it used last
	turn   atomic.Uint32
}

func newPool(processors int) *pool {
	n := 1 << bits.Len(uint(min(processors, maxShards)-1))
	p := &pool{shards: make([]shard, n)}
	for i := range p.shards {
		p.shards[i].index, p.shards[i].pool = i, p
	}
	p.near.New = func() any { return p.shard(int(p.turn.Add(1))) }
	return p
}

// shard returns the i-th shard; after the last one, the count goes on with the first.
func (p *pool) shard(i int) *shard { return &p.shards[i&(len(p.shards)-1)] }

// here returns the shard of the processor that the caller runs on, most of the time.
func (p *pool) here() *shard {
	s := p.near.Get().(*shard)
	p.near.Put(s)
	return s
}

func (p *pool) run(t Task) {
	s := p.here()
	c := s.pop()
	for i := 1; c == nil && i < min(lookAround, len(p.shards)); i++ {
		c = p.shard(s.index + i).pop()
	}
	if c == nil {
		go (*worker)(s).loop(t)
		return
	}
	c <- order{t, s}
}

// park returns a seat for an idle worker: in its home, or in a shard that nobody uses just then. It returns
// nil if there is none, and the worker ends. A goroutine may have lost its processor while it held the lock
// of a shard. Workers that tried until they succeeded would stand before that goroutine in the scheduler's
// queue, again and again, and there would be none for the tasks that come.
func (p *pool) park(home *shard) seat {
	for range rounds {
		for i := range p.shards {
			if c := p.shard(home.index + i).push(); c != nil {
				return c
			}
		}
		runtime.Gosched()
	}
	return nil
}

// order is what an idle worker is sent: its task, nil to end, and the shard that is its home from then on.
type order struct {
	task Task
	home *shard
}

// seat is where an idle worker waits for its order. It belongs to the shard, so that a worker with a long
// task keeps none. A second worker may come to it before the first has left: each then gets one of the
// orders that are sent, whichever.
type seat chan order

// seatRoom is how many orders a seat holds for workers that have taken the seat and do not wait there yet.
const seatRoom = 4

// shard is a stack of idle workers. Its lock is only ever tried, so that nobody waits.
type shard struct {
	index int // in the pool
	pool  *pool

	mu sync.Mutex
	// Guarded by mu.
	seats []seat // the taken ones, the one taken last at the end, and behind them free ones
	idle  int    // how many are taken
	low   int    // the fewest idle workers since the last sweep: they had nothing to do
	high  int    // the most since then: so many seats were of use
	sweep *time.Timer
	armed bool

	_ [64]byte // the next shard is another processor's
}

// pop returns the seat of an idle worker, to which the caller has to send an order. It returns nil if there
// is none, or if another goroutine holds the lock.
func (s *shard) pop() seat {
	if !s.mu.TryLock() {
		return nil
	}
	if s.idle == 0 {
		s.mu.Unlock()
		return nil
	}
	s.idle--
	c := s.seats[s.idle]
	s.low = min(s.low, s.idle)
	s.mu.Unlock()
	return c
}

// push returns a seat, on which the caller has to wait; nil if another goroutine holds the lock.
func (s *shard) push() seat {
	if !s.mu.TryLock() {
		return nil
	}
	if s.idle == len(s.seats) {
		s.mu.Unlock() // to allocate may take long
		c := make(seat, seatRoom)
		if !s.mu.TryLock() {
			return nil
		}
		s.seats = append(s.seats, c)
	}
	c := s.seats[s.idle]
	s.idle++
	s.high = max(s.high, s.idle)
	if !s.armed {
		s.arm()
	}
	s.mu.Unlock()
	return c
}

// arm starts the timer of the next sweep. The caller holds mu.
func (s *shard) arm() {
	s.armed = true
	s.low = 0
	if s.sweep == nil {
		s.sweep = time.AfterFunc(linger, s.trim)
		return
	}
	s.sweep.Reset(linger)
}

// trim ends the workers that nobody has needed since the last trim: those at the bottom of the stack. It
// keeps as many seats as were taken at once since then: where workers come and go, seats that were
// dropped would only have to be made again.
func (s *shard) trim() {
	for !s.mu.TryLock() {
		runtime.Gosched() // there is one trim for each shard
	}
	bored := s.seats[:s.low]
	switch {
	case s.low == s.high: // nobody came or went
		s.seats = nil
	case s.low > 0 || s.high < len(s.seats):
		s.seats = slices.Concat(s.seats[s.low:s.high], bored)
	}
	s.idle -= s.low
	s.low, s.high = s.idle, s.idle
	if s.armed = s.seats != nil; s.armed {
		s.sweep.Reset(linger)
	}
	s.mu.Unlock()
	for _, c := range bored {
		c <- order{}
	}
}

// Task is one piece of work. The task runs to its end on one goroutine, which
// may be blocked for as long as the task likes.
type Task interface{ Run() }

// linger is how long an idle goroutine waits at least for another task.
const linger = 50 * time.Millisecond

// worker is one goroutine, which begins in the shard that is its home.
type worker shard

func (w *worker) loop(t Task) {
	g := Begin()
	for home := (*shard)(w); t != nil; {
		t.Run()
		t = nil // an idle goroutine must not keep the last task alive
		if !g.Next() {
			return
		}
		c := home.pool.park(home)
		if c == nil {
			return
		}
		o := c.wait()
		t, home = o.task, o.home
	}
}

// ballast is how much of its stack a waiting worker seems to use.
type ballast [1536]byte

// wait takes the next order. It has so much of the stack in use that the garbage collector, which halves a
// stack of which less than a quarter is in use, leaves it as it has grown: the next task would only have to
// grow it again. The part in use is room for the argument of a call that is never made; a variable would be
// cleared each time.
//
//go:noinline
func (c seat) wait() order {
	if c == nil {
		c.weigh(ballast{})
	}
	return <-c
}

//go:noinline
func (seat) weigh(ballast) { panic("warm: a worker without a seat waits") }
