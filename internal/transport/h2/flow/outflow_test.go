// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"testing"
)

func TestOutflowNeedsRoomInBoth(t *testing.T) {
	tests := []struct {
		stream, conn, n uint32
		err             error
	}{
		{10, 20, 10, nil},
		{10, 20, 11, ErrOverrun},
		{20, 10, 10, nil},
		{20, 10, 11, ErrOverrun},
		{0, 10, 0, nil},
		{0, 10, 1, ErrOverrun},
		{1<<32 - 1, MaxWindow, MaxWindow, nil},
	}
	for _, tt := range tests {
		stream, conn := newOutflow(tt.stream), newOutflow(tt.conn)
		before := stream.Available(&conn)
		if want := min(tt.stream, tt.conn); before != want {
			t.Errorf("available of %d and %d is %d, want %d", tt.stream, tt.conn, before, want)
		}
		err := stream.Take(&conn, tt.n)
		if !errors.Is(err, tt.err) {
			t.Errorf("take %d of %d and %d: got %v, want %v", tt.n, tt.stream, tt.conn, err, tt.err)
		}
		want := before
		if err == nil {
			want -= tt.n
		}
		if got := stream.Available(&conn); got != want {
			t.Errorf("available after it is %d, want %d", got, want)
		}
	}
}

// TestOutflowBelowZero is the example of section 6.9.2: 60 KB sent of 64, then
// the setting goes to 16 KB.
func TestOutflowBelowZero(t *testing.T) {
	stream, conn := newOutflow(64<<10), newOutflow(MaxWindow)
	steps := []struct {
		name string
		do   func() error
		want uint32
	}{
		{"send", func() error { return stream.Take(&conn, 60<<10) }, 4 << 10},
		{"shrink", func() error { return stream.AdjustInitial(16<<10 - 64<<10) }, 0},
		{"grow, not enough", func() error { return stream.AdjustInitial(8 << 10) }, 0},
		{"shrink below zero", func() error { return stream.AdjustInitial(-8 << 10) }, 0},
		{"update, not enough", func() error { return stream.Add(44 << 10) }, 0},
		{"update", func() error { return stream.Add(1) }, 1},
		{"grow", func() error { return stream.AdjustInitial(8) }, 9},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if got := stream.Available(&conn); got != s.want {
			t.Errorf("%s: available %d, want %d", s.name, got, s.want)
		}
	}
	if err := stream.AdjustInitial(MaxWindow); !errors.Is(err, ErrOverflow) {
		t.Errorf("growth past the most: got %v, want %v", err, ErrOverflow)
	}
	if err := stream.Add(MaxWindow); !errors.Is(err, ErrOverflow) {
		t.Errorf("update past the most: got %v, want %v", err, ErrOverflow)
	}
	if got := stream.Window(); got != 9 {
		t.Errorf("window is %d after refused updates, want 9", got)
	}
}
