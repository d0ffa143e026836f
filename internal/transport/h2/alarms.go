// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"time"

	"google.golang.org/grpc/internal/transport/warm"
)

// coarse is the shortest time that an alarm is good enough for: it may come up to
// alarmStep late.
const (
	coarse    = time.Minute
	alarmStep = int64(time.Second)
)

// alarms are the keepalive deadlines that are far off, of all connections of the
// process: most of them sleep for hours, and a timer each would be a good part of
// what they cost. There is one timer, and none while there is no connection.
// Safe for concurrent use; its lock is taken under Conn.mu.
type alarms struct {
	mu    sync.Mutex
	heap  []alarm // the earliest first; Conn.alarm says where a connection stands
	timer *time.Timer
	next  int64 // when it goes off; 0: it does not
}

// alarm is one connection and when it wants its keepaliveTick.
type alarm struct {
	at   int64 // of the clock
	conn *Conn
}

// farOff are the alarms of the process.
var farOff alarms

// alarmed reports whether a wait of d is one for farOff.
func alarmed(d time.Duration) bool { return d >= coarse && !warm.InBubble() }

// set makes at the time of c's alarm, of which a connection has one.
func (a *alarms) set(c *Conn, at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := int(c.alarm) - 1
	if i < 0 {
		i = len(a.heap)
		a.heap = append(a.heap, alarm{})
	}
	a.heap[i] = alarm{at, c}
	a.sift(i)
	a.arm()
}

// drop takes c's alarm away, if there is one.
func (a *alarms) drop(c *Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.alarm > 0 {
		a.remove(int(c.alarm) - 1)
		a.arm()
	}
}

// ring ticks the connections whose time has come.
func (a *alarms) ring() {
	var due [64]*Conn
	for {
		n := a.take(due[:])
		if n == 0 {
			return
		}
		for _, c := range due[:n] {
			c.keepaliveTick()
		}
	}
}

// take removes the alarms that are due, as many as there is room for. When there
// are none it sees to the timer.
func (a *alarms) take(due []*Conn) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for now := clock(); n < len(due) && len(a.heap) > 0 && a.heap[0].at <= now; n++ {
		due[n] = a.heap[0].conn
		a.remove(0)
	}
	if n == 0 {
		a.next = 0
		a.arm()
	}
	return n
}

// arm makes the timer go off for the earliest alarm, at a full step, where others
// are due, too.
func (a *alarms) arm() {
	if len(a.heap) == 0 {
		if a.timer != nil {
			a.timer.Stop()
		}
		a.heap, a.timer, a.next = nil, nil, 0
		return
	}
	at := (a.heap[0].at + alarmStep - 1) / alarmStep * alarmStep
	if a.next != 0 && a.next <= at {
		return // early is harmless
	}
	a.next = at
	d := time.Duration(at - clock())
	if a.timer == nil {
		a.timer = time.AfterFunc(d, a.ring)
		return
	}
	a.timer.Reset(d)
}

func (a *alarms) remove(i int) {
	a.heap[i].conn.alarm = 0
	last := len(a.heap) - 1
	moved := a.heap[last]
	a.heap[last] = alarm{}
	a.heap = a.heap[:last]
	if i < last {
		a.heap[i] = moved
		a.sift(i)
	}
	if n := cap(a.heap); n > 64 && last < n/4 {
		a.heap = append(make([]alarm, 0, n/2), a.heap...)
	}
}

// sift moves the alarm at i to where it belongs.
func (a *alarms) sift(i int) {
	x := a.heap[i]
	for i > 0 {
		up := (i - 1) / 2
		if a.heap[up].at <= x.at {
			break
		}
		a.put(i, a.heap[up])
		i = up
	}
	for {
		down := 2*i + 1
		if down+1 < len(a.heap) && a.heap[down+1].at < a.heap[down].at {
			down++
		}
		if down >= len(a.heap) || a.heap[down].at >= x.at {
			break
		}
		a.put(i, a.heap[down])
		i = down
	}
	a.put(i, x)
}

func (a *alarms) put(i int, x alarm) {
	a.heap[i] = x
	x.conn.alarm = int32(i + 1)
}
