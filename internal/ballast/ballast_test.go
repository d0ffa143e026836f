// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const most = 32 << 20

// fake is a keeper whose collections the test makes up.
type fake struct {
	*keeper
	state
	own  uint64 // of what lives
	held uint64 // of ballast, at the last collection
}

func newFake() *fake {
	f := &fake{state: state{percent: 100, limit: math.MaxInt64, collections: 1}, own: 1 << 20}
	f.keeper = &keeper{most: most, settle: settle, read: func() state { return f.state }}
	return f
}

// collect has n collections come, each after a while, of a process that is busy, or is not.
func (f *fake) collect(n int, every time.Duration, busy bool) {
	for range n {
		time.Sleep(every)
		synctest.Wait()
		if busy {
			f.note()
		}
		f.allocated += max(leastHeap, 2*f.live) - f.live
		f.collection()
	}
}

// collection is one that the heap has grown enough for.
func (f *fake) collection() {
	f.collections++
	held := f.hold.bytes()
	f.allocated += held - min(f.held, held)
	f.held = held
	f.live = f.own + held
	f.collected()
}

func TestKeeper(t *testing.T) {
	const often, seldom = while / many / 2, while / many * 2
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.collect(10*many, often, false)
		f.collect(10*many, seldom, true)
		f.collect(2*many-1, often, true)
		if f.bytes.Load() != 0 {
			t.Fatal("ballast too soon")
		}
		f.collect(1, often, true)
		if got := f.bytes.Load(); got != 7<<20 {
			t.Fatalf("%d bytes of ballast, want 7 MiB", got)
		}
		f.collect(40, settle/5+1, true)
		if got := f.bytes.Load(); got != 7<<20 {
			t.Errorf("%d bytes of ballast later, want 7 MiB", got)
		}
		f.own += 3 << 20
		f.collect(10, settle/5+1, true)
		if got := f.bytes.Load(); got != 4<<20 {
			t.Errorf("%d bytes of ballast in a heap that has grown, want 4 MiB", got)
		}
		f.own += 4 << 20
		f.collect(10, settle/5+1, true)
		if f.bytes.Load() != 0 || f.looks != nil {
			t.Error("there is ballast in a large heap")
		}
		f.own = 1 << 20
		f.collect(3*many, often, true)
		if f.bytes.Load() == 0 {
			t.Error("no ballast the second time")
		}
		f.collect(int(2*settle/often)+2, often, false)
		if f.bytes.Load() != 0 || f.looks != nil {
			t.Error("there is ballast while no messages come")
		}
	})
}

// allocate has a busy process allocate so many bytes a second for a while, and be collected when it
// has to be.
func (f *fake) allocate(rate uint64, during time.Duration) {
	for end := time.Now().Add(during); time.Now().Before(end); {
		n := max(leastHeap*f.percent/100, f.live+f.live*f.percent/100) - f.live
		for t := time.Duration(n) * time.Second / time.Duration(rate); t > 0; t -= time.Second {
			f.note()
			time.Sleep(min(t, time.Second))
			synctest.Wait()
			f.mu.Lock()
			f.allocated += uint64(min(t, time.Second)) * rate / uint64(time.Second)
			f.mu.Unlock()
		}
		f.collection()
	}
}

// How often collections come with ballast depends on the goal and on GOGC: it stays where they would
// come often without, and goes where they would not.
func TestBallastStays(t *testing.T) {
	for _, c := range []struct{ most, percent, rate uint64 }{
		{16 << 20, 100, 40 << 20}, {1 << 30, 100, 40 << 20}, {16 << 20, 10, 5 << 18}, {1 << 30, 10, 2 << 20}, {64 << 20, 400, 200 << 20},
	} {
		t.Run(fmt.Sprintf("%d MiB, GOGC=%d", c.most>>20, c.percent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.most, f.percent = c.most, c.percent
				f.live = f.own
				f.allocate(c.rate, 3*while)
				for range 10 {
					if f.allocate(c.rate, 10*time.Second); f.bytes.Load() == 0 {
						t.Fatal("no ballast while it is busy")
					}
				}
				if f.allocate(c.rate/8, 3*settle); f.bytes.Load() != 0 {
					t.Error("there is ballast where collections would be seldom")
				}
				if f.looks != nil {
					t.Error("the timer goes on")
				}
			})
		})
	}
}

// The more is allocated the larger is the heap, up to a bound.
func TestGoal(t *testing.T) {
	for _, c := range []struct{ most, rate, want uint64 }{
		{32 << 20, 60 << 20, 16 << 20},
		{32 << 20, 240 << 20, 24 << 20},
		{32 << 20, 1 << 30, 32 << 20},
		{256 << 20, 1 << 30, 102 << 20},
		{8 << 20, 1 << 30, 8 << 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.most, f.live = c.most, f.own
			f.allocate(c.rate, 3*while)
			early := uint64(f.bytes.Load())
			f.allocate(c.rate, 3*settle)
			want := c.want/2 - f.own
			for _, got := range []uint64{early, uint64(f.bytes.Load())} {
				if got > want || got < want-2*block {
					t.Errorf("of at most %d, with %d bytes a second: %d bytes of ballast, want %d", c.most, c.rate, got, want)
				}
			}
			f.allocate(1<<20, 3*settle)
		})
	}
}

// waste allocates until enough is said.
func waste(enough func() bool) {
	for !enough() {
		for range 1000 {
			sink.Store(new([1 << 10]byte))
		}
	}
}

var sink atomic.Pointer[[1 << 10]byte]

// TestProcess has real collections, of a heap that has hardly anything but garbage.
func TestProcess(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	k := &keeper{read: readState, settle: time.Second}
	k.start(64 << 20)
	waste(func() bool { k.note(); return k.bytes.Load() > 0 })
	if s := readState(); k.bytes.Load() > 32<<20 {
		t.Errorf("%d bytes of ballast, of %+v", k.bytes.Load(), s)
	}
	// With that a collection comes for each 7 to 30 MiB, without for 3.
	const step = 64 << 20 >> 10
	before := readState().collections
	for range 10 * step {
		k.note()
		sink.Store(new([1 << 10]byte))
	}
	if n := readState().collections - before; n > 120 {
		t.Errorf("%d collections for 640 MiB", n)
	}
	for k.bytes.Load() > 0 { // the timer takes it away
		time.Sleep(time.Millisecond)
	}
}

func BenchmarkBusy(b *testing.B) {
	for b.Loop() {
		Busy()
	}
}
