// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestForbidden: the scheduler is told of all calls, and there is no goroutine.
func TestForbidden(t *testing.T) {
	defer forbidden.Store(false)
	Forbid()
	for range 10 * thick {
		Event()
	}
	if On() || process.begins.Load() {
		t.Error("on")
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{thick: 4}
		come := func(n int, every time.Duration) {
			for range n {
				p.event()
				time.Sleep(every)
			}
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		come(100, tick)
		if p.on.Load() {
			t.Error("on with an event a tick")
		}
		come(100, tick/10)
		if !p.on.Load() {
			t.Error("not on with ten events a tick")
		}
		come(30, tick/3)
		if !p.on.Load() {
			t.Error("not on any more with three events a tick")
		}
		come(3, tick)
		if p.on.Load() || p.begins.Load() {
			t.Error("still on with an event a tick")
		}
		come(100, tick/10)
		if !p.on.Load() {
			t.Error("not on for the second time")
		}
		time.Sleep(3 * tick)
	})
}
