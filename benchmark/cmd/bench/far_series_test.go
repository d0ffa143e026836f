// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
)

// growing are points each 25 ms from one second before the stream began at 10 s: no message for
// a second of it, then two a point.
func growing() (points []ops.Point, start int64) {
	count := uint64(0)
	for at := 9 * time.Second; at <= 15*time.Second; at += 25 * time.Millisecond {
		if at > 11*time.Second {
			count += 2
		}
		points = append(points, ops.Point{At: int64(at), Count: count})
	}
	return points, int64(10 * time.Second)
}

func TestRatesOver(t *testing.T) {
	const size, full = 1000, 80_000 // 2 messages each 25 ms
	points, start := growing()
	all := ratesOver(points, start, size, 200*time.Millisecond)
	if first, last := all[0], all[len(all)-1]; first.At != 0 || last.At != 5*time.Second {
		t.Errorf("rates from %v to %v", first.At, last.At)
	}
	for _, m := range all {
		want := 0.0
		switch past := m.At - time.Second; {
		case past >= 200*time.Millisecond:
			want = full
		case past > 0:
			want = full * past.Seconds() / 0.2
		}
		if diff := m.Rate - want; diff > 1 || diff < -1 {
			t.Errorf("at %v the rate is %v, want %v", m.At, m.Rate, want)
		}
	}
	if got := steady(all); got != full {
		t.Errorf("steady at %v, want %v", got, full)
	}
	if at, ok := reached(all, 0.9*full); !ok || at != 1200*time.Millisecond {
		t.Errorf("0.9 reached at %v, %v", at, ok)
	}
	if at, ok := reached(all, 2*full); ok {
		t.Errorf("twice as much reached at %v", at)
	}
}

func TestRatesOverOfBursts(t *testing.T) {
	// A window of 100 messages comes at once each 300 ms: over a round trip that is an even rate.
	var points []ops.Point
	for at := time.Duration(0); at <= 6*time.Second; at += 25 * time.Millisecond {
		points = append(points, ops.Point{At: int64(at), Count: 100 * uint64(at/(300*time.Millisecond))})
	}
	got := steady(ratesOver(points, 0, 3, 300*time.Millisecond))
	if got < 999 || got > 1001 {
		t.Errorf("steady at %v, want 1000", got)
	}
}

func TestRatesOverOfYoungStreams(t *testing.T) {
	for _, n := range []int{0, 1} {
		points, start := growing()
		if all := ratesOver(points[:n], start, 1, time.Second); len(all) != 0 || steady(all) != 0 {
			t.Errorf("%v of %d points before the stream began", all, n)
		}
	}
	if all := ratesOver([]ops.Point{{At: 5, Count: 3}}, 5, 1, time.Second); len(all) != 1 || all[0].Rate != 0 {
		t.Errorf("%v of one point", all)
	}
}
