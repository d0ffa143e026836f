// SPDX-License-Identifier: Apache-2.0

// Package alarm has timers for those of whom there are many and whose time is long: all
// of a process share one timer of the runtime. An alarm that is set costs its owner 40
// bytes and a place in a list; while none is set there is nothing but an empty list.
package alarm

import (
	"sync"
	"time"

	"google.golang.org/grpc/internal/transport/warm"
)

// Ringer is what happens when the time has come. Ring runs on a goroutine of its own.
type Ringer interface{ Ring() }

// Alarm rings once after it was set. The zero value is not set. Its methods are called
// one at a time; Ring may run beside them. It must not be copied.
type Alarm struct {
	ringer Ringer
	when   time.Duration // since begin; the list's lock guards it
	place  int           // in the list, from 1; 0: it is not there
	// timer takes the list's place in bubbles of testing/synctest, which have a
	// clock of their own.
	timer *time.Timer
}

// Set has r rung after a while, in place of what was set before.
func (a *Alarm) Set(after time.Duration, r Ringer) {
	if warm.InBubble() {
		a.Stop()
		a.timer = time.AfterFunc(after, r.Ring)
		return
	}
	all.set(a, time.Since(begin)+after, r)
}

// Stop keeps the alarm from ringing, if it has not begun to.
func (a *Alarm) Stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
		return
	}
	all.remove(a)
}

var (
	all   list
	begin = time.Now()
)

// list is a heap of the alarms that are set: the first is the next to ring.
type list struct {
	mu    sync.Mutex
	heap  []*Alarm
	timer *time.Timer   // nil while the heap is empty
	next  time.Duration // when the timer fires
}

func (l *list) set(a *Alarm, when time.Duration, r Ringer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.ringer, a.when = r, when
	if a.place == 0 {
		l.heap = append(l.heap, a)
		a.place = len(l.heap)
	}
	l.settle(a.place)
	l.arm()
}

func (l *list) remove(a *Alarm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.place != 0 {
		l.takeOut(a)
		l.arm()
	}
}

// takeOut removes a, which is in the heap.
func (l *list) takeOut(a *Alarm) {
	hole, last := a.place, len(l.heap)
	moved := l.heap[last-1]
	l.heap[last-1] = nil
	l.heap = l.heap[:last-1]
	a.place, a.ringer = 0, nil
	if moved != a {
		l.put(hole, moved)
		l.settle(hole)
	}
	if n := len(l.heap); n == 0 {
		l.heap = nil
	} else if cap(l.heap) > 64 && n < cap(l.heap)/4 {
		l.heap = append(make([]*Alarm, 0, 2*n), l.heap...)
	}
}

// arm has the timer fire for the first alarm. One that fires too early costs less than
// to set it anew for each alarm that is taken out.
func (l *list) arm() {
	switch {
	case len(l.heap) == 0:
		if l.timer != nil {
			l.timer.Stop()
			l.timer = nil
		}
	case l.timer == nil:
		l.next = l.heap[0].when
		l.timer = time.AfterFunc(l.next-time.Since(begin), l.ring)
	case l.heap[0].when < l.next:
		l.next = l.heap[0].when
		l.timer.Reset(l.next - time.Since(begin))
	}
}

// ring is the timer's.
func (l *list) ring() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(begin)
	for len(l.heap) > 0 && l.heap[0].when <= now {
		a := l.heap[0]
		r := a.ringer
		l.takeOut(a)
		go r.Ring()
	}
	if l.timer != nil && len(l.heap) > 0 {
		l.next = l.heap[0].when
		l.timer.Reset(l.next - now)
		return
	}
	l.arm()
}

// settle moves the alarm at a place, which may be wrong, to the right one.
func (l *list) settle(place int) {
	a := l.heap[place-1]
	for place > 1 && a.when < l.heap[place/2-1].when {
		l.put(place, l.heap[place/2-1])
		place /= 2
	}
	for {
		child := 2 * place
		if child < len(l.heap) && l.heap[child].when < l.heap[child-1].when {
			child++
		}
		if child > len(l.heap) || l.heap[child-1].when >= a.when {
			break
		}
		l.put(place, l.heap[child-1])
		place = child
	}
	l.put(place, a)
}

func (l *list) put(place int, a *Alarm) {
	l.heap[place-1] = a
	a.place = place
}
