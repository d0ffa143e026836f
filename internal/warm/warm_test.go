// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type task func()

func (f task) Run() { f() }

func TestReuseAndTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		const n = 100
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range n {
			wg.Add(1)
			p.run(task(func() { defer wg.Done(); <-release }))
		}
		close(release)
		wg.Wait()
		synctest.Wait()
		// Those that were in each other's way have ended.
		if idle, armed := p.counts(); idle < 1 || idle > n || !armed {
			t.Fatalf("idle %d, armed %v after %d tasks", idle, armed, n)
		}
		// One task at a time keeps one worker and lets the others go.
		for range 10 {
			done := make(chan struct{})
			p.run(task(func() { close(done) }))
			<-done
			time.Sleep(linger / 2) // the fake clock of synctest
		}
		synctest.Wait()
		if idle, _ := p.counts(); idle != 1 {
			t.Errorf("%d workers stayed for one task at a time", idle)
		}
		time.Sleep(3 * linger)
		synctest.Wait()
		if idle, armed := p.counts(); idle != 0 || armed {
			t.Errorf("idle %d, armed %v after the linger", idle, armed)
		}
	})
}

func TestBlockedTaskStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(2)
		block := make(chan struct{})
		p.run(task(func() { <-block }))
		done := make(chan struct{})
		p.run(task(func() { close(done) }))
		<-done
		close(block)
		time.Sleep(3 * linger)
	})
}

// A task has neither the labels of whoever started it nor those of the task before.
func TestLabelsDoNotPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(2)
		labels := pprof.Labels("who", "a task before")
		profile := func() string {
			var b strings.Builder
			if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
				t.Error(err)
			}
			return b.String()
		}
		var before, during, after string
		run := func(f func()) {
			pprof.Do(t.Context(), labels, func(context.Context) { p.run(task(f)) })
			synctest.Wait()
		}
		run(func() {
			before = profile()
			pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), labels))
			during = profile()
		})
		idle := profile()
		run(func() { after = profile() })
		if !strings.Contains(during, "a task before") {
			t.Fatal("the profile shows no labels")
		}
		for when, s := range map[string]string{"in the first task": before, "while idle": idle, "in the second task": after} {
			for _, group := range strings.Split(s, "\n\n") {
				if strings.Contains(group, "a task before") && strings.Contains(group, "warm.(*worker)") {
					t.Errorf("%s the goroutine has labels:\n%s", when, group)
				}
			}
		}
		time.Sleep(3 * linger)
	})
}

// Nor is a fault of its memory a panic because it was one for the task before.
func TestPanicOnFaultDoesNotPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		found := 0
		for range 10 {
			p.run(task(func() {
				if debug.SetPanicOnFault(true) {
					found++
				}
			}))
			synctest.Wait()
		}
		if found > 0 {
			t.Errorf("%d of 10 tasks found it set", found)
		}
		time.Sleep(3 * linger)
	})
}

// Each task has a goroutine of its own where that is asked for, and for the race detector, which would take those of
// one goroutine for ordered.
func TestApart(t *testing.T) {
	if !raceDetector {
		defer apart.Store(false)
		Forbid()
	}
	const n = 20
	for name, run := range map[string]func(Task){"Go": Go, "GoOutside": GoOutside} {
		seen := map[string]bool{}
		for range n {
			heading := make(chan string)
			run(task(func() {
				b := make([]byte, 128)
				id, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), "[")
				heading <- id
			}))
			seen[<-heading] = true
		}
		if len(seen) != n {
			t.Errorf("%s: %d tasks had %d goroutines", name, n, len(seen))
		}
	}
}

func BenchmarkGo(b *testing.B) {
	done := make(chan struct{})
	f := task(func() { done <- struct{}{} })
	for b.Loop() {
		Go(f)
		<-done
	}
}
