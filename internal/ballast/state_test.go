// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestMissing(t *testing.T) {
	const mib, goal, none = 1 << 20, 16 << 20, math.MaxInt64
	for _, c := range []struct {
		name    string
		s       state
		ballast uint64
		want    uint64
	}{
		{"a small heap", state{live: mib, percent: 100, limit: none}, 0, 7 * mib},
		{"with ballast", state{live: 8 * mib, percent: 100, limit: none}, 7 * mib, 7 * mib},
		{"it grew beside ballast", state{live: 10 * mib, percent: 100, limit: none}, 7 * mib, 5 * mib},
		{"ballast that did not live yet", state{live: mib, percent: 100, limit: none}, 7 * mib, 8 * mib},
		{"just large enough", state{live: 8 * mib, percent: 100, limit: none}, 0, 0},
		{"large", state{live: 1 << 40, percent: 100, limit: none}, 0, 0},
		{"seldom collected", state{live: mib, percent: 700, limit: none}, 0, mib},
		{"more seldom", state{live: mib, percent: 1500, limit: none}, 0, 0},
		{"often collected", state{live: mib, percent: 0, limit: none}, 0, 15 * mib},
		{"not collected", state{live: mib, percent: math.MaxUint64, limit: none}, 0, 0},
		{"under a limit", state{live: mib, percent: 100, limit: 16*goal - 1}, 0, 0},
		{"under a high limit", state{live: mib, percent: 100, limit: 16 * goal}, 0, 7 * mib},
	} {
		if got := c.s.missing(goal, c.ballast); got != c.want {
			t.Errorf("%s: %d bytes are missing, want %d", c.name, got, c.want)
		}
	}
}

func TestStep(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ live, percent, ballast, want uint64 }{
		{mib, 100, 0, 3 * mib},
		{8 * mib, 100, 7 * mib, 3 * mib},
		{14 * mib, 100, 7 * mib, 7 * mib},
		{8 * mib, 50, 7 * mib, mib},
		{8 * mib, 25, 7 * mib, mib / 4},
		{8 * mib, 0, 7 * mib, 0},
	} {
		if got := (state{live: c.live, percent: c.percent}).step(c.ballast); got != c.want {
			t.Errorf("%d bytes between collections, want %d, of %+v", got, c.want, c)
		}
	}
}

func TestReadState(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(150))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40))
	before := readState()
	runtime.GC()
	s := readState()
	if s.percent != 150 || s.limit != 1<<40 || s.live == 0 || s.allocated == 0 {
		t.Errorf("read %+v", s)
	}
	waste(func() bool { return readState().collections > before.collections })
	debug.SetGCPercent(-1)
	if s := readState(); s.missing(1<<40, 0) != 0 {
		t.Errorf("ballast where nothing is collected: %+v", s)
	}
}
