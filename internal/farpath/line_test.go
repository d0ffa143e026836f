// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"math"
	"testing"
	"time"
)

// plain is a packet of one segment.
func plain(bytes int) segments { return segments{count: 1, headers: bytes} }

// large is a packet of n segments of 1,000 bytes each.
func large(n int) segments {
	return segments{count: n, headers: 40, payload: 960 * n, size: 960}
}

var noon = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func TestLine(t *testing.T) {
	type sent struct {
		at      time.Duration
		packet  segments
		end     int           // how many of its segments arrive; 0: none
		arrives time.Duration // the last of them
	}
	for name, test := range map[string]struct {
		shape Shape
		sent  []sent
		full  uint64
	}{
		"at once": {Shape{}, []sent{{0, plain(100), 1, 0}, {ms(1), large(40), 40, ms(1)}}, 0},
		"held for half of a round trip": {
			Shape{RoundTrip: ms(20)},
			[]sent{{0, plain(100), 1, ms(10)}, {ms(3), plain(100), 1, ms(13)}},
			0,
		},
		"each waits for those before": {
			Shape{RoundTrip: ms(20), Rate: 1e6},
			[]sent{{0, plain(1000), 1, ms(11)}, {0, plain(1000), 1, ms(12)}, {ms(1.5), plain(500), 1, ms(12.5)}},
			0,
		},
		"a rate that is not used is not saved": {
			Shape{Rate: 1e6},
			[]sent{{0, plain(1000), 1, ms(1)}, {ms(100), plain(1000), 1, ms(101)}},
			0,
		},
		"a large packet arrives with its last segment": {Shape{Rate: 1e6}, []sent{{0, large(5), 5, ms(5)}}, 0},
		"what finds the queue full is dropped": {
			Shape{Rate: 1e6, Queue: 3000},
			[]sent{{0, large(5), 3, ms(3)}, {0, plain(1000), 0, 0}, {ms(1), plain(1000), 1, ms(4)}},
			3,
		},
		"an empty queue takes what is larger than it": {Shape{Rate: 1e6, Queue: 10}, []sent{{0, plain(1000), 1, ms(1)}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(test.shape, 1)
			for i, s := range test.sent {
				end, arrives := 0, time.Duration(0)
				for _, r := range l.admit(noon.Add(s.at), s.packet) {
					end, arrives = r.end, r.due.Sub(noon)
				}
				if end != s.end || arrives != s.arrives {
					t.Errorf("packet %d: %d segments until %v, want %d until %v", i, end, arrives, s.end, s.arrives)
				}
			}
			if l.full != test.full {
				t.Errorf("%d found the queue full, want %d", l.full, test.full)
			}
		})
	}
}

func TestLineDefaultQueueHoldsARoundTrip(t *testing.T) {
	for shape, want := range map[Shape]int{
		{Rate: 1e6, RoundTrip: ms(1)}:            MinQueue,
		{Rate: 1e6, RoundTrip: ms(300)}:          300_000,
		{Rate: 1e6, RoundTrip: ms(1), Queue: 10}: 10,
	} {
		if got := shape.queue(); got != want {
			t.Errorf("%+v: %d bytes may wait, want %d", shape, got, want)
		}
	}
}

func TestLineLosesAsOftenAsItSays(t *testing.T) {
	for _, loss := range []float64{0.001, 0.01, 0.2} {
		const packets, of = 20_000, 40
		l := newLine(Shape{Loss: loss}, 1)
		arrived := 0
		for range packets {
			last := -1
			for _, r := range l.admit(noon, large(of)) {
				if r.first <= last || r.end <= r.first || r.end > of {
					t.Fatalf("segments %d to %d arrive behind %d, of %d", r.first, r.end, last, of)
				}
				last = r.end // one at least is missing before the next run
				arrived += r.end - r.first
			}
		}
		if int(l.lost)+arrived != packets*of {
			t.Errorf("%d lost and %d arrived of %d", l.lost, arrived, packets*of)
		}
		want := loss * packets * of
		if got := float64(l.lost); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%v lost, want %v", got, want)
		}
	}
}

func TestLineReorders(t *testing.T) {
	const packets = 10_000
	l := newLine(Shape{RoundTrip: ms(2), Reorder: 0.1, ReorderBy: ms(5)}, 1)
	late := 0
	for range packets {
		switch r := l.admit(noon, plain(100))[0]; r.due.Sub(noon) {
		case ms(6):
			late++
		case ms(1):
		default:
			t.Fatalf("one is due after %v", r.due.Sub(noon))
		}
	}
	if late < packets/10*8/10 || late > packets/10*12/10 {
		t.Errorf("%d of %d are late", late, packets)
	}
}

func TestLineDownTakesNothing(t *testing.T) {
	l := newLine(Shape{}, 1)
	l.down = true
	if got := l.admit(noon, plain(100)); len(got) != 0 || l.counts.down != 1 {
		t.Errorf("%v arrives, %d counted", got, l.counts.down)
	}
	l.down = false
	if got := l.admit(noon, plain(100)); len(got) != 1 {
		t.Errorf("%v arrives when the link is up again", got)
	}
}

func TestLinesOfAPathDoNotLoseTheSame(t *testing.T) {
	there, back := newLine(Shape{Loss: 0.5}, 1), newLine(Shape{Loss: 0.5}, 2)
	differ := false
	for range 100 {
		differ = differ || len(there.admit(noon, plain(1))) != len(back.admit(noon, plain(1)))
	}
	if !differ {
		t.Error("both directions lose the same packets")
	}
}
