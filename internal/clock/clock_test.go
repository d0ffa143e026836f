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
	if now, at := Now(), At(time.Now()); at < now {
		t.Errorf("the clock shows %d, and %d later", now, at)
	}
	if At(time.Time{}) != 0 {
		t.Error("the zero time is not 0")
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
