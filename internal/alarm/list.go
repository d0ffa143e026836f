// SPDX-License-Identifier: Apache-2.0

// Package alarm has deadlines for owners of which there are many and whose deadlines are far away, such as
// connections with a keepalive of hours: all deadlines of a process share one timer of the runtime. A
// deadline costs 24 bytes in a heap, and nothing is left while there is none.
package alarm

import (
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/shrink"
)

// Owner is what is rung at a deadline.
type Owner interface {
	// Ring says that the time has come. The timer's goroutine calls it without a lock, for one owner after
	// the other: it must not wait.
	Ring()
	// Seat returns the owner's Seat.
	Seat() *Seat
}

// Seat is the place of an owner in the list. Only the list looks at it. The zero value is no place.
type Seat struct{ place int32 } // from 1

// A deadline that is coarse away or more may be met up to a step late, together with others.
const (
	coarse = time.Minute
	step   = time.Second
)

// Set makes o ring after a while, in place of what was set before. Ring may call it, and it may be called
// with locks held that Ring takes.
func Set(o Owner, after time.Duration) { all.set(o, after) }

// Drop keeps the owner of s from being rung, if that has not begun.
func Drop(s *Seat) { all.drop(s) }

func now() time.Duration { return time.Duration(clock.Now()) }

// all are the deadlines of the process.
var all list

// list is a heap of deadlines, the earliest first.
type list struct {
	mu    sync.Mutex
	heap  []deadline
	timer *time.Timer   // nil while the heap is empty
	next  time.Duration // when it fires; 0: it does not
}

type deadline struct {
	at    time.Duration // of the clock
	owner Owner
}

func (l *list) set(o Owner, after time.Duration) {
	at := deadlineAfter(now(), after)
	l.mu.Lock()
	defer l.mu.Unlock()
	i := int(o.Seat().place) - 1
	if i < 0 {
		i = len(l.heap)
		l.heap = append(l.heap, deadline{})
	}
	l.heap[i] = deadline{at, o}
	l.sift(i)
	l.arm()
}

// deadlineAfter returns the time that is after a while from now. If the clock never shows that time, it
// returns the last one that the clock has: a caller may mean "never" by it, and a sum that wraps around
// would be the earliest deadline of all.
func deadlineAfter(now, after time.Duration) time.Duration {
	at := now + after
	if after > 0 && (at < now || at > math.MaxInt64-step) {
		return math.MaxInt64
	}
	if over := at % step; over > 0 && after >= coarse {
		at += step - over
	}
	return at
}

func (l *list) drop(s *Seat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := int(s.place) - 1; i >= 0 {
		l.remove(i)
		l.arm()
	}
}

// ring rings the owners whose time has come.
func (l *list) ring() { l.ringAll(nil) }

// ringAll rings the owners of due first. If an owner runs code of the program that ends the goroutine, another one
// rings the rest.
func (l *list) ringAll(due []Owner) {
	var room [64]Owner
	left := true
	defer func() {
		if left {
			go l.ringAll(slices.Clone(due))
		}
	}()
	for {
		for len(due) > 0 {
			o := due[0]
			due[0] = nil
			due = due[1:]
			o.Ring()
		}
		n := l.take(room[:])
		if n == 0 {
			left = false
			return
		}
		due = room[:n]
	}
}

// take removes deadlines whose time has come, as many as due has room for, and stores their owners in due.
// If there are none, it sets the timer.
func (l *list) take(due []Owner) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := now(); n < len(due) && len(l.heap) > 0 && l.heap[0].at <= t; n++ {
		due[n] = l.heap[0].owner
		l.remove(0)
	}
	if n == 0 {
		l.next = 0
		l.arm()
	}
	return n
}

// arm makes the timer fire for the earliest deadline. A timer that fires too early costs less than setting
// it anew for each deadline that is dropped.
func (l *list) arm() {
	if len(l.heap) == 0 {
		if l.timer != nil {
			l.timer.Stop()
		}
		l.heap, l.timer, l.next = nil, nil, 0
		return
	}
	at := l.heap[0].at
	if l.next != 0 && l.next <= at {
		return
	}
	l.next = at
	if l.timer == nil {
		l.timer = time.AfterFunc(at-now(), l.ring)
		return
	}
	l.timer.Reset(at - now())
}

func (l *list) remove(i int) {
	l.heap[i].owner.Seat().place = 0
	last := len(l.heap) - 1
	moved := l.heap[last]
	l.heap[last] = deadline{}
	l.heap = l.heap[:last]
	if i < last {
		l.heap[i] = moved
		l.sift(i)
	}
	l.heap = shrink.Slice(l.heap)
}

// sift moves the deadline at i to where it belongs.
func (l *list) sift(i int) {
	x := l.heap[i]
	for i > 0 {
		up := (i - 1) / 2
		if l.heap[up].at <= x.at {
			break
		}
		l.put(i, l.heap[up])
		i = up
	}
	for {
		down := 2*i + 1
		if down+1 < len(l.heap) && l.heap[down+1].at < l.heap[down].at {
			down++
		}
		if down >= len(l.heap) || l.heap[down].at >= x.at {
			break
		}
		l.put(i, l.heap[down])
		i = down
	}
	l.put(i, x)
}

func (l *list) put(i int, x deadline) {
	l.heap[i] = x
	x.owner.Seat().place = int32(i + 1)
}
