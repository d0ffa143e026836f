// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// Where every wait is in vain there are ever fewer of them; where one is not, all are made.
func TestIdlePredictor(t *testing.T) {
	var h idlePredictor
	in := func(n int, vain bool) (waits []int) {
		for i := range n {
			if h.skips() {
				h.recordSkip()
				continue
			}
			waits = append(waits, i)
			if vain {
				h.recordMiss()
			} else {
				h.recordHit()
			}
		}
		return waits
	}
	if got := in(5, false); len(got) != 5 {
		t.Errorf("a busy connection waits at %v", got)
	}
	if got, want := in(128, true), []int{0, 4, 12, 28, 60, 92, 124}; !slices.Equal(got, want) {
		t.Errorf("a connection with little input waits at %v, want %v", got, want)
	}
	in(skipMask, false) // until it tries again
	if got := in(5, false); len(got) != 5 {
		t.Errorf("one that has become busy waits at %v", got)
	}
}

// A new connection is doubted until more has come some times; what was in vain is so as on any.
func TestIdlePredictorOfANewConnection(t *testing.T) {
	h := untried
	for i := range hitsOfNew {
		if h.skips() || !h.doubts() {
			t.Fatalf("not in doubt before more came for time %d", i)
		}
		if known := h.recordHit(); known != (i == hitsOfNew-1) {
			t.Errorf("known is %t after more came for time %d", known, i)
		}
	}
	if h.doubts() || h.recordHit() {
		t.Error("in doubt about one that is known")
	}
	for before := range hitsOfNew {
		h = untried
		for range before {
			h.recordHit()
		}
		if h.recordMiss(); h != 1<<skipBits|3 {
			t.Errorf("%d after more came %d times, and then not", h, before)
		}
	}
}

// On a new connection for which nobody waits more counts that comes soon.
func TestNewConnectionIsHeard(t *testing.T) {
	const soon, late = int64(park.Linger) - 1, int64(park.Linger)
	for _, tt := range []struct {
		name        string
		after       []int64 // from one time to the next
		before, now idlePredictor
	}{
		{"for the first time", nil, untried, untried},
		{"soon", []int64{soon}, untried, untried + 1},
		{"soon, and late", []int64{soon, late, soon}, untried, untried + 2},
		{"late", []int64{late, late}, untried, untried},
		{"often enough", []int64{soon}, untried + hitsOfNew - 1, 0},
		{"when it is known", []int64{soon}, 1<<skipBits | 3, 1<<skipBits | 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reader{in: input{predictor: tt.before}, core: protocol.New(protocol.Client, &protocol.Config{})}
			at := int64(time.Hour)
			r.heardAt(at)
			for _, d := range tt.after {
				at += d
				r.heardAt(at)
			}
			if r.in.predictor != tt.now {
				t.Errorf("its predictor is %#x, want %#x", r.in.predictor, tt.now)
			}
			if got := r.lastRead.Load(); tt.before.isNew() && got != at {
				t.Errorf("heard at %d, want %d", got, at)
			}
		})
	}
	r := &reader{in: input{predictor: untried, swept: true}, core: protocol.New(protocol.Client, &protocol.Config{})}
	r.heardAt(1)
	if r.heardAt(2); r.in.predictor != untried {
		t.Error("what a reader has waited for was counted twice")
	}
}
