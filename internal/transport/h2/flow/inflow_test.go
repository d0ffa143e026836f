// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"testing"
)

func TestInflow(t *testing.T) {
	type state struct {
		increment, window uint32
		unread            uint64
	}
	receive := func(n uint32) func(f *Inflow) (uint32, error) {
		return func(f *Inflow) (uint32, error) { return 0, f.Receive(n) }
	}
	consume := func(n uint32) func(f *Inflow) (uint32, error) {
		return func(f *Inflow) (uint32, error) { return f.Consume(n), nil }
	}
	put := func(n uint32) func(f *Inflow) (uint32, error) {
		return func(f *Inflow) (uint32, error) { return f.Defer(n), nil }
	}
	target := func(n uint32) func(f *Inflow) (uint32, error) {
		return func(f *Inflow) (uint32, error) { return f.SetTarget(n), nil }
	}
	expect := func(n uint32) func(f *Inflow) (uint32, error) {
		return func(f *Inflow) (uint32, error) { return f.Expect(n), nil }
	}
	adjust := func(n int64) func(f *Inflow) (uint32, error) {
		return func(f *Inflow) (uint32, error) { return 0, f.AdjustInitial(n) }
	}
	type step struct {
		do   func(f *Inflow) (uint32, error)
		want state
		err  error
	}
	tests := map[string]struct {
		initial uint32
		steps   []step
	}{
		"updates are batched": {1000, []step{
			{receive(600), state{0, 400, 600}, nil},
			{consume(249), state{0, 400, 351}, nil},
			{consume(1), state{250, 650, 350}, nil},
			{consume(350), state{350, 1000, 0}, nil},
		}},
		"overrun": {1000, []step{
			{receive(1000), state{0, 0, 1000}, nil},
			{receive(1), state{0, 0, 1000}, ErrOverrun},
			{receive(1<<32 - 1), state{0, 0, 1000}, ErrOverrun},
			{receive(0), state{0, 0, 1000}, nil},
		}},
		"consuming what never came gives nothing": {1000, []step{
			{receive(10), state{0, 990, 10}, nil},
			{consume(1<<32 - 1), state{0, 990, 0}, nil},
			{consume(500), state{0, 990, 0}, nil},
		}},
		"an update waits for DATA to go with": {1000, []step{
			{receive(400), state{0, 600, 400}, nil},
			{put(400), state{0, 600, 0}, nil},
			{receive(99), state{0, 501, 99}, nil},
			{put(0), state{0, 501, 99}, nil},
			{receive(1), state{0, 500, 100}, nil},
			{put(0), state{400, 900, 100}, nil}, // not while half of the window is gone
			{receive(300), state{0, 600, 400}, nil},
			{put(300), state{0, 600, 100}, nil},
			{consume(0), state{300, 900, 100}, nil},
		}},
		"a tiny window does not wait": {1, []step{
			{receive(1), state{0, 0, 1}, nil},
			{put(1), state{1, 1, 0}, nil},
		}},
		"tiny windows": {1, []step{
			{receive(1), state{0, 0, 1}, nil},
			{consume(1), state{1, 1, 0}, nil},
		}},
		"growth": {1000, []step{
			{receive(1000), state{0, 0, 1000}, nil},
			{target(4000), state{3000, 3000, 1000}, nil},
			{consume(999), state{0, 3000, 1}, nil},
			{receive(1), state{0, 2999, 2}, nil},
			{consume(2), state{1001, 4000, 0}, nil},
		}},
		"growth brings what was owed along": {1000, []step{
			{receive(200), state{0, 800, 200}, nil},
			{consume(200), state{0, 800, 0}, nil},
			{target(1001), state{201, 1001, 0}, nil},
		}},
		"shrinking waits": {4000, []step{
			{target(1000), state{0, 4000, 0}, nil},
			{receive(3200), state{0, 800, 3200}, nil},
			{consume(3200), state{0, 800, 0}, nil},
			{receive(50), state{0, 750, 50}, nil},
			{consume(50), state{250, 1000, 0}, nil},
		}},
		"a loan is paid back": {1000, []step{
			{receive(100), state{0, 900, 100}, nil},
			{expect(5000), state{4100, 5000, 100}, nil},
			{expect(5000), state{0, 5000, 100}, nil},
			{receive(5000), state{0, 0, 5100}, nil},
			{consume(4349), state{0, 0, 751}, nil},
			{consume(1), state{250, 250, 750}, nil},
			{consume(750), state{750, 1000, 0}, nil},
		}},
		"a loan ends at the limit": {1000, []step{
			{expect(1<<32 - 1), state{MaxWindow - 1000, MaxWindow, 0}, nil},
			{receive(MaxWindow), state{0, 0, MaxWindow}, nil},
			{expect(MaxWindow), state{MaxWindow, MaxWindow, MaxWindow}, nil},
			{receive(MaxWindow), state{0, 0, 2 * MaxWindow}, nil},
			{consume(1<<32 - 1), state{1000, 1000, 0}, nil},
		}},
		"setting raised and lowered": {1000, []step{
			{receive(900), state{0, 100, 900}, nil},
			{adjust(1000), state{0, 1100, 900}, nil},
			{adjust(-1500), state{0, 0, 900}, nil}, // 400 below zero
			{receive(1), state{0, 0, 900}, ErrOverrun},
			{consume(900), state{900, 500, 0}, nil},
			{adjust(MaxWindow), state{0, 500, 0}, ErrOverflow},
		}},
		"lowering sends what had been too little": {4000, []step{
			{receive(900), state{0, 3100, 900}, nil},
			{consume(900), state{0, 3100, 0}, nil},
			{adjust(-3500), state{0, 0, 0}, nil}, // 400 below zero
			{consume(0), state{900, 500, 0}, nil},
		}},
		"the largest window": {1<<32 - 1, []step{
			{receive(MaxWindow), state{0, 0, MaxWindow}, nil},
			{consume(MaxWindow), state{MaxWindow, MaxWindow, 0}, nil},
			{target(1<<32 - 1), state{0, MaxWindow, 0}, nil},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newInflow(tt.initial)
			for i, s := range tt.steps {
				increment, err := s.do(&f)
				if !errors.Is(err, s.err) {
					t.Errorf("step %d: got error %v, want %v", i, err, s.err)
				}
				if got := (state{increment, f.Window(), uint64(f.unread)}); got != s.want {
					t.Fatalf("step %d: got %+v, want %+v", i, got, s.want)
				}
			}
		})
	}
}

// TestInflowFromZero: a stream may start without a window; it must still come to
// life when the target is raised or something is expected.
func TestInflowFromZero(t *testing.T) {
	f := newInflow(0)
	if got := f.SetTarget(0); got != 1 {
		t.Errorf("target 0 grants %d, want 1", got)
	}
	f = newInflow(0)
	if got := f.Expect(5); got != 5 {
		t.Errorf("expecting 5 grants %d", got)
	}
}

func TestFlowDoesNotAllocate(t *testing.T) {
	in, stream, conn := newInflow(1<<16), newOutflow(1<<16), newOutflow(1<<16)
	got := testing.AllocsPerRun(100, func() {
		n := stream.Available(&conn)
		if stream.Take(&conn, n) != nil || in.Receive(n) != nil {
			t.Error("the windows do not agree")
		}
		increment := in.Consume(n)
		if stream.Add(increment) != nil || conn.Add(increment) != nil {
			t.Error("overflow")
		}
	})
	if got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// What the reader expects can be sent, though the initial window is lowered before, between or
// after what arrives of it: it consumes nothing before it has it all.
func TestExpectedIsLowered(t *testing.T) {
	const initial, lowered, message = 1 << 20, 1 << 16, 5 << 20
	for _, before := range []uint32{0, 100, initial, 4 << 20} {
		f := newInflow(initial)
		f.Expect(message)
		if err := f.Receive(before); err != nil {
			t.Fatal(err)
		}
		if err := f.AdjustInitial(lowered - initial); err != nil {
			t.Fatal(err)
		}
		peers := int64(message) - int64(before) + lowered - initial // what the peer knows of
		peers += int64(f.Lowered())
		if peers < message-int64(before) || peers != int64(f.Window()) {
			t.Errorf("%d bytes have come: the peer may send %d more, the window is %d", before, peers, f.Window())
		}
		if err := f.Receive(message - before); err != nil {
			t.Fatal(err)
		}
		if inc := f.Consume(message); f.Window() != lowered || inc == 0 {
			t.Errorf("the window is %d after the message, with an update of %d", f.Window(), inc)
		}
	}
}
