// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"testing"
)

func TestWindow(t *testing.T) {
	tests := []struct {
		name  string
		start int32
		op    func(w *Window) error
		want  int32
		err   error
	}{
		{"add to the most", 1, func(w *Window) error { return w.Add(MaxWindow - 1) }, MaxWindow, nil},
		{"add one too many", 1, func(w *Window) error { return w.Add(MaxWindow) }, 1, ErrOverflow},
		{"add to a full window", MaxWindow, func(w *Window) error { return w.Add(1) }, MaxWindow, ErrOverflow},
		{"add all bits", 0, func(w *Window) error { return w.Add(1<<32 - 1) }, 0, ErrOverflow},
		{"add below zero", -5, func(w *Window) error { return w.Add(3) }, -2, nil},
		{"add from the least", -MaxWindow, func(w *Window) error { return w.Add(MaxWindow) }, 0, nil},
		{"take all", 7, func(w *Window) error { return w.Take(7) }, 0, nil},
		{"take too much", 7, func(w *Window) error { return w.Take(8) }, 7, ErrOverrun},
		{"take all bits", 7, func(w *Window) error { return w.Take(1<<32 - 1) }, 7, ErrOverrun},
		{"take below zero", -7, func(w *Window) error { return w.Take(1) }, -7, ErrOverrun},
		{"take nothing below zero", -7, func(w *Window) error { return w.Take(0) }, -7, nil},
		{"shift to the least", 0, func(w *Window) error { return w.shift(-MaxWindow) }, -MaxWindow, nil},
		{"shift below the least", -1, func(w *Window) error { return w.shift(-MaxWindow) }, -1, ErrOverflow},
		{"shift end to end", -MaxWindow, func(w *Window) error { return w.shift(2 * MaxWindow) }, MaxWindow, nil},
		{"shift out of 64 bits", 1, func(w *Window) error { return w.shift(1<<63 - 1) }, 1, ErrOverflow},
		{"shift out of 64 bits below", -2, func(w *Window) error { return w.shift(-1 << 63) }, -2, ErrOverflow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Window{n: tt.start}
			if err := tt.op(&w); !errors.Is(err, tt.err) {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
			if w.n != tt.want {
				t.Errorf("got %d, want %d", w.n, tt.want)
			}
		})
	}
}
