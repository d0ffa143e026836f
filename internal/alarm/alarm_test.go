// SPDX-License-Identifier: Apache-2.0

package alarm

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type note chan time.Time

func (n note) Ring() { n <- time.Now() }

func TestRingsInTime(t *testing.T) {
	first, second, never := make(note, 1), make(note, 1), make(note, 1)
	var a, b, c Alarm
	start := time.Now()
	b.Set(20*time.Millisecond, second)
	a.Set(10*time.Millisecond, first)
	c.Set(time.Hour, never)
	// Which of the two comes first is open if the timer fires after both times.
	if d := (<-first).Sub(start); d < 10*time.Millisecond {
		t.Errorf("it rang %v too early", 10*time.Millisecond-d)
	}
	if d := (<-second).Sub(start); d < 20*time.Millisecond {
		t.Errorf("the later one rang %v too early", 20*time.Millisecond-d)
	}
	if len(never) != 0 {
		t.Error("one rang that is an hour away")
	}
	c.Stop()
	all.check(t)
}

// An alarm may be set again from within Ring.
func TestSetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Alarm
		n := make(note)
		for range 3 {
			a.Set(time.Millisecond, n)
			<-n
		}
		a.Stop()
		a.Stop()
		synctest.Wait() // whoever rang has looked at the list once more
		all.check(t)
	})
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
