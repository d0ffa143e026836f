// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
)

// idleness makes a channel idle after timeout without an RPC. It costs a few atomic operations for
// each RPC, and one alarm for each channel that is not idle.
type idleness struct {
	// Immutable.
	timeout time.Duration // 0: never
	owner   idler

	// active is how many RPCs there are, plus asleep in idle mode: an RPC that finds a negative
	// number knows that it must wake the channel.
	active   atomic.Int64
	lastUsed atomic.Int64 // when the last RPC ended, in nanoseconds of package clock

	mu     sync.Mutex // held while the mode changes
	alarm  alarm.Alarm
	closed bool
}

// idler changes the mode. idleness holds its mu while it calls either method.
type idler interface {
	enterIdle()
	leaveIdle() error
}

const asleep = math.MinInt64 / 2

// start makes the channel idle, to begin with.
func (i *idleness) start() { i.active.Store(asleep) }

// begin counts an RPC, and wakes the channel if it is idle.
func (i *idleness) begin() {
	if i.active.Add(1) > 0 {
		return
	}
	returned := false
	defer func() {
		if !returned { // a resolver or a policy has panicked, or ended the goroutine
			i.active.Add(-1)
		}
	}()
	_ = i.wake() // an error shows when the RPC picks
	returned = true
}

// end counts the end of an RPC.
func (i *idleness) end() {
	if i.timeout <= 0 {
		i.active.Add(-1)
		return
	}
	for {
		n := i.active.Load()
		if n == 1 {
			i.lastUsed.Store(clock.Now()) // before Ring finds no RPC
		}
		if i.active.CompareAndSwap(n, n-1) {
			return
		}
	}
}

func (i *idleness) rpcs() int {
	n := i.active.Load()
	if n < asleep/2 {
		n -= asleep
	}
	return int(n)
}

// wake takes an idle channel out of idle mode and returns leaveIdle's error.
func (i *idleness) wake() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.active.Load() > asleep/2 {
		return nil
	}
	err := i.owner.leaveIdle()
	i.active.Add(-asleep)
	i.lastUsed.Store(clock.Now())
	i.arm(i.timeout)
	return err
}

func (i *idleness) arm(after time.Duration) {
	if i.timeout > 0 {
		i.alarm.Set(after, i)
	}
}

// Ring implements alarm.Ringer. It makes the channel idle if there was no RPC for timeout, and
// otherwise sets the alarm for the earliest moment at which the channel may go idle.
func (i *idleness) Ring() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.active.Load() < 0 {
		return
	}
	if i.active.Load() > 0 { // before lastUsed: else the last RPC may end in between
		i.arm(max(i.timeout, time.Millisecond)) // not at once, for as long as there is an RPC
		return
	}
	used := i.lastUsed.Load()
	quiet := time.Duration(clock.Now() - used)
	switch {
	case quiet < i.timeout:
		i.arm(i.timeout - quiet)
	case !i.active.CompareAndSwap(0, asleep): // an RPC began this moment
		i.arm(i.timeout)
	case i.lastUsed.Load() != used: // and ended
		i.active.Add(-asleep)
		i.arm(i.timeout)
	default:
		i.owner.enterIdle()
	}
}

// close stops the alarm. The mode does not change any more.
func (i *idleness) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.alarm.Stop()
}
