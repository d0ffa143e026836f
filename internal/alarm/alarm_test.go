// SPDX-License-Identifier: Apache-2.0

package alarm

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type note chan time.Time

func (n note) Ring() { n <- time.Now() }

// check looks for what has to hold between calls.
func (l *list) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, a := range l.heap {
		if a.place != i+1 {
			t.Fatalf("the alarm at %d thinks that it is at %d", i+1, a.place)
		}
		if up := (i + 1) / 2; up > 0 && l.heap[up-1].when > a.when {
			t.Fatalf("the alarm at %d is earlier than that at %d", i+1, up)
		}
	}
	if len(l.heap) == 0 {
		if l.timer != nil || l.heap != nil {
			t.Fatal("something stays with an empty list")
		}
		return
	}
	if l.timer == nil || l.next > l.heap[0].when {
		t.Fatal("the timer is later than the first alarm")
	}
}

func TestHeap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l list
	alarms := make([]Alarm, 300)
	set := func(a *Alarm) { l.set(a, time.Since(begin)+time.Hour+time.Duration(random.IntN(1000)), note(nil)) }
	for range 5000 {
		a := &alarms[random.IntN(len(alarms))]
		if random.IntN(3) == 0 {
			l.remove(a)
		} else {
			set(a)
		}
		l.check(t)
	}
	for i := range alarms {
		l.remove(&alarms[i])
		l.check(t)
	}
	if len(l.heap) != 0 {
		t.Errorf("%d alarms are left", len(l.heap))
	}
}

func TestRingsInTime(t *testing.T) {
	var l list
	first, second, never := make(note, 1), make(note, 1), make(note, 1)
	var a, b, c Alarm
	now := time.Since(begin)
	l.set(&b, now+20*time.Millisecond, second)
	l.set(&a, now+10*time.Millisecond, first)
	l.set(&c, now+time.Hour, never)
	// Which of the two comes first is open if the timer fires after both times.
	if d := (<-first).Sub(begin); d < now+10*time.Millisecond {
		t.Errorf("it rang %v too early", now+10*time.Millisecond-d)
	}
	if d := (<-second).Sub(begin); d < now+20*time.Millisecond {
		t.Errorf("the later one rang %v too early", now+20*time.Millisecond-d)
	}
	if len(never) != 0 {
		t.Error("one rang that is an hour away")
	}
	l.check(t)
	l.remove(&c)
	l.check(t)
}

// An alarm may be set again from within Ring.
func TestSetAgain(t *testing.T) {
	var a Alarm
	n := make(note)
	for range 3 {
		a.Set(time.Millisecond, n)
		<-n
	}
	a.Stop()
	a.Stop()
	all.check(t)
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b Alarm
		begun, n := time.Now(), make(note, 2)
		a.Set(time.Hour, n)
		b.Set(time.Minute, n)
		a.Set(2*time.Hour, n)
		b.Stop()
		if d := (<-n).Sub(begun); d != 2*time.Hour {
			t.Errorf("it rang after %v", d)
		}
		synctest.Wait()
		if len(n) != 0 {
			t.Error("an alarm that was stopped rang")
		}
	})
}

func BenchmarkSetStop(b *testing.B) {
	alarms := make([]Alarm, 10000)
	for i := range alarms {
		alarms[i].Set(time.Hour+time.Duration(i), note(nil))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a := &alarms[i%len(alarms)]
		a.Stop()
		a.Set(time.Hour, note(nil))
	}
	for i := range alarms {
		alarms[i].Stop()
	}
}
