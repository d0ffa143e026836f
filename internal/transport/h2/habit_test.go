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
func TestHabit(t *testing.T) {
	var h habit
	in := func(n int, vain bool) (waits []int) {
		for i := range n {
			if h.isSeldom() {
				h.spare()
				continue
			}
			waits = append(waits, i)
			if vain {
				h.vain()
			} else {
				h.more()
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
	in(atOnce, false) // until it tries again
	if got := in(5, false); len(got) != 5 {
		t.Errorf("one that has become busy waits at %v", got)
	}
}

// A new connection is doubted until more has come some times; what was in vain is so as on any.
func TestHabitOfANewConnection(t *testing.T) {
	h := stranger
	for i := range acquainted {
		if h.isSeldom() || !h.doubts() {
			t.Fatalf("not in doubt before more came for time %d", i)
		}
		if known := h.more(); known != (i == acquainted-1) {
			t.Errorf("known is %t after more came for time %d", known, i)
		}
	}
	if h.doubts() || h.more() {
		t.Error("in doubt about one that is known")
	}
	for before := range acquainted {
		h = stranger
		for range before {
			h.more()
		}
		if h.vain(); h != 1<<habitBits|3 {
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
		before, now habit
	}{
		{"for the first time", nil, stranger, stranger},
		{"soon", []int64{soon}, stranger, stranger + 1},
		{"soon, and late", []int64{soon, late, soon}, stranger, stranger + 2},
		{"late", []int64{late, late}, stranger, stranger},
		{"often enough", []int64{soon}, stranger + acquainted - 1, 0},
		{"when it is known", []int64{soon}, 1<<habitBits | 3, 1<<habitBits | 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reader{in: input{habit: tt.before}, core: protocol.New(protocol.Client, &protocol.Config{})}
			at := int64(time.Hour)
			r.heardAt(at)
			for _, d := range tt.after {
				at += d
				r.heardAt(at)
			}
			if r.in.habit != tt.now {
				t.Errorf("its habit is %#x, want %#x", r.in.habit, tt.now)
			}
			if got := r.lastRead.Load(); tt.before.isNew() && got != at {
				t.Errorf("heard at %d, want %d", got, at)
			}
		})
	}
	r := &reader{in: input{habit: stranger, swept: true}, core: protocol.New(protocol.Client, &protocol.Config{})}
	r.heardAt(1)
	if r.heardAt(2); r.in.habit != stranger {
		t.Error("what a reader has waited for was counted twice")
	}
}
