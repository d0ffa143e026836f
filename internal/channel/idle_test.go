// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/clock"
)

// modes notes what an idleness does to its owner.
type modes struct {
	mu  sync.Mutex
	log []string
}

func (m *modes) add(s string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, s)
}

func (m *modes) enterIdle()       { m.add("enter") }
func (m *modes) leaveIdle() error { m.add("leave"); return nil }

func (m *modes) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	log := m.log
	m.log = nil
	return log
}

func TestIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &modes{}
		i := &idleness{timeout: time.Minute, owner: m}
		i.start()
		want := func(what string, log ...string) {
			t.Helper()
			synctest.Wait()
			if got := m.take(); !slices.Equal(got, log) {
				t.Errorf("%s: %q, want %q", what, got, log)
			}
		}
		time.Sleep(time.Hour)
		want("before the first RPC")
		i.begin()
		want("the first RPC", "leave")
		time.Sleep(time.Hour)
		want("during the RPC")
		i.end()
		time.Sleep(time.Minute - time.Second)
		i.begin()
		i.end()
		time.Sleep(time.Minute - time.Second)
		want("a minute has not passed since the last RPC")
		time.Sleep(2 * time.Second)
		want("a minute after the last RPC", "enter")
		_ = i.wake()
		_ = i.wake()
		want("woken twice", "leave")
		time.Sleep(time.Hour)
		want("nobody calls", "enter")
		i.close()
		i.begin()
		want("closed")
	})
}

func TestIdlenessNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &modes{}
		i := &idleness{owner: m}
		i.start()
		i.begin()
		i.end()
		time.Sleep(1000 * time.Hour)
		if got := m.take(); !slices.Equal(got, []string{"leave"}) {
			t.Errorf("%q", got)
		}
	})
}

// TestIdlenessEnd: whoever finds no RPC also finds when the last one ended.
func TestIdlenessEnd(t *testing.T) {
	i := &idleness{timeout: time.Hour, owner: &modes{}}
	i.start()
	i.begin()
	i.end()
	defer i.close()
	for range 20_000 {
		i.lastUsed.Store(0)
		i.begin()
		var ended sync.WaitGroup
		ended.Go(i.end)
		for i.rpcs() > 0 {
			runtime.Gosched()
		}
		if i.lastUsed.Load() == 0 {
			t.Fatal("no RPC, but its end is not noted")
		}
		ended.Wait()
	}
}

// TestIdlenessRingAtEnd: the alarm that rings as a long RPC ends leaves the channel as it is.
func TestIdlenessRingAtEnd(t *testing.T) {
	o := &modes{}
	i := &idleness{timeout: time.Hour, owner: o}
	i.start()
	i.begin()
	i.end()
	defer i.close()
	o.take()
	for range 20_000 {
		i.begin()
		i.lastUsed.Store(clock.Now() - int64(2*time.Hour))
		var ended sync.WaitGroup
		ended.Go(i.end)
		i.Ring()
		ended.Wait()
		if log := o.take(); len(log) > 0 {
			t.Fatal(log)
		}
	}
}

// TestIdlenessPanic: an RPC whose wake-up panics is not counted.
func TestIdlenessPanic(t *testing.T) {
	i := &idleness{timeout: time.Hour, owner: panics{&modes{}}}
	i.start()
	defer i.close()
	func() {
		defer func() { _ = recover() }()
		i.begin()
		t.Error("it returned")
	}()
	if n := i.rpcs(); n != 0 {
		t.Errorf("%d RPCs", n)
	}
}

type panics struct{ *modes }

func (panics) leaveIdle() error { panic("of a policy") }

// TestIdlenessRace has RPCs begin while the timer fires. Whenever one runs the mode must
// not be idle.
func TestIdlenessRace(t *testing.T) {
	o := &checkedMode{t: t}
	i := &idleness{timeout: time.Microsecond, owner: o}
	i.start()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2000 {
				i.begin()
				o.use()
				i.end()
			}
		})
	}
	wg.Wait()
	i.close()
}

type checkedMode struct {
	t    *testing.T
	mu   sync.Mutex
	away bool
}

func (c *checkedMode) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}
func (c *checkedMode) enterIdle()       { c.set(false) }
func (c *checkedMode) leaveIdle() error { c.set(true); return nil }
func (c *checkedMode) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.away {
		c.t.Error("an RPC runs in idle mode")
	}
}
