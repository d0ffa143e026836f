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

// idleness decides when a channel goes idle: after a while without an RPC. It costs two
// atomic additions for each RPC, and one alarm for each channel that is not idle.
type idleness struct {
	// Immutable.
	timeout time.Duration // 0: never
	owner   idler

	// active is how many RPCs there are. In idle mode asleep is added, so that
	// the RPC which wakes the channel finds a negative number.
	active   atomic.Int64
	lastUsed atomic.Int64 // when the last RPC ended, in nanoseconds of package clock

	mu     sync.Mutex // held while the mode changes
	alarm  alarm.Alarm
	closed bool
}

// idler changes the mode. Both methods are called with the idleness locked.
type idler interface {
	enterIdle()
	leaveIdle() error
}

const asleep = math.MinInt64 / 2

// start makes the channel idle, to begin with.
func (i *idleness) start() { i.active.Store(asleep) }

// begin counts an RPC, and wakes the channel if it is idle.
func (i *idleness) begin() {
	if i.active.Add(1) <= 0 {
		_ = i.wake() // an error shows when the RPC picks
	}
}

// end counts the end of an RPC.
func (i *idleness) end() {
	if i.active.Add(-1) == 0 && i.timeout > 0 {
		i.lastUsed.Store(clock.Now())
	}
}

func (i *idleness) rpcs() int {
	n := i.active.Load()
	if n < asleep/2 {
		n -= asleep
	}
	return int(n)
}

// wake takes the channel out of idle mode, if it is in it. It returns what leaveIdle did.
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

// Ring implements alarm.Ringer: the channel goes idle, or the alarm is set for when it may.
func (i *idleness) Ring() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.active.Load() < 0 {
		return
	}
	quiet := time.Duration(clock.Now() - i.lastUsed.Load())
	switch {
	case i.active.Load() > 0:
		i.arm(i.timeout)
	case quiet < i.timeout:
		i.arm(i.timeout - quiet)
	case i.active.CompareAndSwap(0, asleep):
		i.owner.enterIdle()
	default: // an RPC began this moment
		i.arm(i.timeout)
	}
}

// close ends it: the mode does not change any more.
func (i *idleness) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.alarm.Stop()
}
