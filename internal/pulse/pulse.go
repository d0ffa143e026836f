// SPDX-License-Identifier: Apache-2.0

// Package pulse says when a system call that never waits may be made without telling the Go scheduler.
//
// If a goroutine of a process runs for a moment every now and then, the process pays much for its first
// system call each time. The call wakes sysmon, a thread of the runtime that sleeps while nothing runs, and
// that then looks around for some time. sysmon takes the processor from goroutines that compute for long,
// and looks for input while all processors compute. So something has to wake it, but a moment later would
// do. While events are frequent, a goroutine of this package wakes a hundred times a second. For the sake
// of that goroutine's timer, sysmon sleeps no longer than until then. So if a goroutine begins to compute
// after system calls that the scheduler was not told of, sysmon finds it within ten milliseconds, as it
// would ten milliseconds after other system calls.
//
// This assumes one thing of the scheduler: sysmon sleeps no longer than until the next timer. A test checks
// that for the Go version at hand (pulse_sysmon_linux_test.go). Programs that don't want to rely on it call
// Forbid.
//
// Events are the wake-ups of connections that wait without a goroutine. When they are no longer frequent, the
// goroutine ends.
package pulse

import (
	"sync/atomic"
	"time"
)

const (
	// tick is how long sysmon may sleep.
	tick = 10 * time.Millisecond
	// thick is how many events in a tick make them frequent. A tick costs about as much as sysmon does for
	// two events.
	thick = 4
)

// pace is how often events come.
type pace struct {
	thick uint32 // how many in a tick are enough

	on      atomic.Bool
	begins  atomic.Bool   // there is a goroutine, or will be
	events  atomic.Uint32 // since the last tick
	counted atomic.Int64  // while there is no goroutine: when counting began, on the clock
}

var process = pace{thick: thick}

// epoch is where the clock begins.
var epoch = time.Now()

// forbidden says that the scheduler has to know of every system call.
var forbidden atomic.Bool

// Forbid makes On return false from now on, and Event do nothing.
func Forbid() { forbidden.Store(true) }

// Event notes that something has happened that woke the process.
func Event() {
	if !forbidden.Load() {
		process.event()
	}
}

// On reports whether the scheduler need not be told of a system call that does not wait.
func On() bool { return process.on.Load() }

func (p *pace) event() {
	n := p.events.Add(1)
	if n < p.thick || p.begins.Load() {
		return
	}
	now := int64(time.Since(epoch))
	p.events.Store(0)
	if now-p.counted.Swap(now) < int64(tick) && p.begins.CompareAndSwap(false, true) {
		go p.run()
	}
}

// run ticks until events are no longer frequent. The goroutine whose event started it has made a system
// call that woke sysmon. sysmon does not sleep again before all goroutines wait, and by then this one waits
// for its tick.
func (p *pace) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	p.events.Store(0)
	p.on.Store(true)
	for range ticker.C {
		if p.events.Swap(0) < p.thick/2 {
			break
		}
	}
	p.on.Store(false)
	p.begins.Store(false)
}
