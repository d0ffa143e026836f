// SPDX-License-Identifier: Apache-2.0

package alarm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// counted notes when it is rung.
type counted struct {
	seat Seat
	rung []time.Duration
}

func (c *counted) Ring()       { c.rung = append(c.rung, now()) }
func (c *counted) Seat() *Seat { return &c.seat }

// Random deadlines are met when they are due, those that are far off up to a step later,
// and none before; what was dropped is not rung, and without deadlines there is no timer.
func TestList(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { model(t, rand.New(rand.NewPCG(seed, 3))) })
	}
}

func model(t *testing.T, rnd *rand.Rand) {
	var l list
	owners := make([]counted, 150)
	due := make(map[*counted]time.Duration)
	settle := func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
		now := now()
		for o, at := range due {
			switch n := len(o.rung); {
			case n > 1:
				t.Fatalf("rung %d times", n)
			case n == 1 && (o.rung[0] < at || o.rung[0] > at+step):
				t.Fatalf("rung at %v instead of %v", o.rung[0], at)
			case n == 0 && now > at+step:
				t.Fatalf("not rung at %v, and it is %v", at, now)
			case n == 1:
				delete(due, o)
				o.rung = nil
			}
		}
	}
	for range 1000 {
		o := &owners[rnd.IntN(len(owners))]
		switch rnd.IntN(6) {
		case 0:
			l.drop(o.Seat())
			delete(due, o)
		case 1:
			settle(time.Duration(rnd.Int64N(int64(5 * time.Second))))
		default:
			after := time.Duration(rnd.Int64N(int64(3 * time.Minute)))
			due[o] = now() + after
			l.set(o, after)
		}
		l.check(t)
	}
	settle(5 * time.Minute)
	for i := range owners {
		if len(owners[i].rung) > 0 {
			t.Error("rung without a deadline")
		}
	}
	if l.check(t); len(l.heap) != 0 {
		t.Errorf("%d deadlines are left", len(l.heap))
	}
}

// check looks for what has to hold between calls.
func (l *list) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, d := range l.heap {
		if place := d.owner.Seat().place; place != int32(i+1) {
			t.Fatalf("who stands at %d thinks that it is at %d", i+1, place)
		}
		if i > 0 && l.heap[(i-1)/2].at > d.at {
			t.Fatalf("the deadline at %d is earlier than the one above", i+1)
		}
	}
	if len(l.heap) == 0 {
		if l.timer != nil || l.heap != nil {
			t.Fatal("something stays with an empty list")
		}
		return
	}
	if l.timer == nil || l.next > l.heap[0].at {
		t.Fatal("the timer is later than the first deadline")
	}
}

func BenchmarkSetDrop(b *testing.B) {
	owners := make([]counted, 10000)
	for i := range owners {
		Set(&owners[i], time.Hour+time.Duration(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		o := &owners[i%len(owners)]
		Drop(o.Seat())
		Set(o, time.Hour)
	}
	for i := range owners {
		Drop(owners[i].Seat())
	}
}

// signalled closes a channel when it is rung.
type signalled struct {
	seat Seat
	rung chan struct{}
}

func (s *signalled) Ring()       { close(s.rung) }
func (s *signalled) Seat() *Seat { return &s.seat }

// TestNever: an owner that is never to be rung keeps no other from being rung, whichever comes first. A
// bubble is of no use here, as its clock begins below zero, so that no sum wraps around.
func TestNever(t *testing.T) {
	for _, first := range []bool{true, false} {
		var l list
		never, soon := signalled{rung: make(chan struct{})}, signalled{rung: make(chan struct{})}
		if first {
			l.set(&never, math.MaxInt64)
		}
		l.set(&soon, time.Millisecond)
		if !first {
			l.set(&never, math.MaxInt64)
		}
		<-soon.rung
		l.drop(never.Seat())
		select {
		case <-never.rung:
			t.Error("rung, though it was never to be")
		default:
		}
	}
}

func TestDeadlineAfter(t *testing.T) {
	const last = math.MaxInt64
	for _, c := range []struct{ now, after, want time.Duration }{
		{1500 * time.Millisecond, time.Second, 2500 * time.Millisecond},
		{1500 * time.Millisecond, time.Minute, 62 * time.Second},
		{0, last, last},
		{1, last, last},
		{time.Hour, last - time.Hour, last},
		{time.Hour, last - time.Hour - time.Millisecond, last}, // no whole second is left
		{time.Second, -2 * time.Second, -time.Second},
	} {
		if got := deadlineAfter(c.now, c.after); got != c.want {
			t.Errorf("%v after %v: %v, want %v", c.after, c.now, got, c.want)
		}
	}
	if at := deadlineAfter(-26*365*24*time.Hour, last); at < last/2 {
		t.Errorf("never, by the clock of a bubble: %v", at)
	}
}

// leaving is an owner whose Ring ends the goroutine.
type leaving struct{ counted }

func (l *leaving) Ring() { l.counted.Ring(); runtime.Goexit() }

// Owners are rung, once, also if others end the goroutine.
func TestRingEndsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l list
		owners := make([]leaving, 200)
		var calm counted
		for round := range 2 {
			for i := range owners {
				l.set(&owners[i], time.Second)
			}
			l.set(&calm, 2*time.Second)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			for i := range owners {
				if n := len(owners[i].rung); n != round+1 {
					t.Fatalf("owner %d is rung %d times", i, n)
				}
			}
			if n := len(calm.rung); n != round+1 {
				t.Errorf("the one behind them is rung %d times", n)
			}
		}
	})
}
