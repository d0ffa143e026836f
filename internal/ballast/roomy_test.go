// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"math"
	"testing"
)

func TestRoomyState(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live, percent, pooled uint64
		want                  bool
	}{
		{mib, 100, 0, false},
		{mib, 400, 0, true},
		{9 * mib, 100, 0, true},
		{9 * mib, 100, 6 * mib, false},
		{9 * mib, 100, 60 * mib, false},
		{9 * mib, 400, 60 * mib, true},
		{64 * mib, 10, 0, false},
		{512 * mib, 100, 60 * mib, true},
		{mib, math.MaxUint64, 0, true},
	} {
		if got := (state{live: c.live, percent: c.percent}).roomy(c.pooled); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestRoomyLooksSeldom(t *testing.T) {
	var r roominess
	looks := 0
	at := func(now int64, roomy, want bool) {
		t.Helper()
		if got := r.ask(now, func() bool { looks++; return roomy }); got != want {
			t.Errorf("at %d: %v", now, got)
		}
	}
	const step, wait = int64(lookEvery), int64(steady)
	at(1, true, false)
	at(step, false, false) // too soon to look
	at(wait, true, false)
	at(wait+step, true, true)
	at(wait+step+1, false, true) // too soon
	at(wait+2*step, false, false)
	at(wait+3*step, true, false)
	at(2*wait+4*step, true, true)
	at(-100*wait, true, false) // another clock, as that of a bubble
	if looks != 7 {
		t.Errorf("%d looks", looks)
	}
}
