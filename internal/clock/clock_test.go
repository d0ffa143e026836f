// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	before := Now()
	if before <= 0 {
		t.Fatalf("the clock shows %d", before)
	}
	if after := Now(); after < before {
		t.Errorf("the clock went from %d to %d", before, after)
	}
	now := time.Now()
	if got := Time(At(now)); !got.Equal(now) {
		t.Errorf("%v came back as %v", now, got)
	}
	if At(time.Time{}) != 0 || !Time(0).IsZero() {
		t.Error("0 is not the zero time")
	}
}

func TestBubble(t *testing.T) {
	if InBubble() {
		t.Error("a bubble without one")
	}
	synctest.Test(t, func(t *testing.T) {
		if !InBubble() {
			t.Error("no bubble")
		}
		begin := Now()
		time.Sleep(time.Hour)
		if d := time.Duration(Now() - begin); d != time.Hour {
			t.Errorf("an hour took %v", d)
		}
		if d := At(time.Now()) - Now(); d != 0 {
			t.Errorf("At(time.Now()) is %d ns off", d)
		}
	})
}
