// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"crypto/fips140"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

// A worker whose thread a task has left locked takes a bounded number of tasks more, and ends.
func TestThreadLockEndsTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		p.run(task(runtime.LockOSThread))
		synctest.Wait()
		locked, last := 0, false
		for range lockLook + 10 {
			p.run(task(func() {
				if last = isLocked(); last {
					locked++
				}
			}))
			synctest.Wait()
		}
		if last || locked >= lockLook {
			t.Errorf("%d tasks found the thread locked, the last one: %v", locked, last)
		}
		time.Sleep(3 * linger)
	})
}

// A task that ends its goroutine ends it, and no other.
func TestGoexitEndsTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		ran := 0
		for range 10 {
			p.run(task(func() {
				if isLocked() {
					t.Error("the thread is that of a task which has ended its goroutine")
				}
				ran++
				runtime.LockOSThread()
				runtime.Goexit()
			}))
			synctest.Wait()
		}
		if idle, _ := p.counts(); ran != 10 || idle != 0 {
			t.Errorf("%d ran, %d workers are left", ran, idle)
		}
	})
}

// Who needs a new worker within fips140.WithoutEnforcement does not exempt the tasks of others.
func TestExemptionDoesNotPass(t *testing.T) {
	if !testutils.InChild(t, "GODEBUG=fips140=only") {
		return
	}
	if !fips140.Enforced() {
		t.Skip("this build does not know FIPS 140-3")
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		var within, after bool
		fips140.WithoutEnforcement(func() { p.run(task(func() { within = fips140.Enforced() })) })
		synctest.Wait()
		p.run(task(func() { after = fips140.Enforced() }))
		fips140.WithoutEnforcement(func() {
			Fresh(func() {
				if !fips140.Enforced() {
					t.Error("a goroutine of the process is exempt because the one was that needed it")
				}
			})
		})
		synctest.Wait()
		if within {
			t.Error("a goroutine no longer inherits this: there is nothing to guard against")
		}
		if !after {
			t.Error("a task is exempt because one before it was")
		}
		time.Sleep(3 * linger)
	})
}
