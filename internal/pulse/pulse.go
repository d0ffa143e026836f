// SPDX-License-Identifier: Apache-2.0

// Package pulse says when a system call that never waits may be made without telling the Go
// scheduler of it.
//
// A process of which every now and then a goroutine runs for a moment pays much for its
// first system call each time: it wakes sysmon, a thread of the runtime that sleeps while
// nothing runs, which then looks around for some time. That thread takes the processor from
// who computes for long, and looks for input while all processors compute; so somebody has to
// wake it, but a moment later would do. While events are frequent a goroutine here wakes a
// hundred times a second, and for the sake of its timer sysmon sleeps no longer than until
// then: whatever begins to compute after system calls that nobody was told of is found within
// ten milliseconds, as it would be ten milliseconds after others.
//
// That is what is assumed of the scheduler, and all: sysmon sleeps no longer than until the next
// timer. A test holds it for the Go version at hand (pulse_sysmon_linux_test.go); Forbid is for
// who doesn't want to rely on it.
//
// Frequent events are those of connections that wait without a goroutine, and reads and
// writes of much at once. When they no longer do the goroutine ends.
package pulse

import (
	"sync/atomic"
	"time"
)

const (
	// tick is how long sysmon may sleep.
	tick = 10 * time.Millisecond
	// thick is how many events a tick have to come. A tick costs about as much as sysmon
	// does for two of them.
	thick = 4
)

// pace is how often events come.
type pace struct {
	thick uint32 // how many in a tick are enough

	on      atomic.Bool
	begins  atomic.Bool   // there is a goroutine, or will be
	events  atomic.Uint32 // since the last tick
	counted atomic.Int64  // while there is no goroutine: since when, on the clock
}

var process = pace{thick: thick}

// epoch is where the clock begins.
var epoch = time.Now()

// forbidden is set where the scheduler has to know of every system call.
var forbidden atomic.Bool

// Forbid has On report false from here on, and Event do nothing.
func Forbid() { forbidden.Store(true) }

// Event notes that something has happened for which the process woke, or of which sysmon would take
// note many times.
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

// run ticks until events are no longer frequent. The goroutine that noted the one for which it was started
// made a system call that sysmon heard of; it does not sleep again before all goroutines wait,
// this one for its tick.
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
