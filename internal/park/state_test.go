// SPDX-License-Identifier: Apache-2.0

package park

import "testing"

// TestTransitions is the table of state.go, cell by cell.
func TestTransitions(t *testing.T) {
	const gen = 7
	type cell struct {
		to  word
		won bool
		err error
	}
	tests := []struct {
		from                                 word
		park, wake, stale, kick, take, close cell
	}{
		{
			from: active,
			park: cell{to: parkedAs(gen)}, wake: cell{to: active}, stale: cell{to: active},
			kick: cell{to: noted}, take: cell{to: active}, close: cell{to: closed},
		},
		{
			from: noted,
			park: cell{to: active, err: ErrKicked}, wake: cell{to: noted}, stale: cell{to: noted},
			kick: cell{to: noted}, take: cell{to: noted}, close: cell{to: closed},
		},
		{
			from: parkedAs(gen),
			park: cell{to: parkedAs(gen), err: ErrParked}, wake: cell{to: active, won: true},
			stale: cell{to: parkedAs(gen)},
			kick:  cell{to: active, won: true}, take: cell{to: active, won: true}, close: cell{to: closed, won: true},
		},
		{
			from: closed,
			park: cell{to: closed, err: ErrClosed}, wake: cell{to: closed}, stale: cell{to: closed},
			kick: cell{to: closed}, take: cell{to: closed}, close: cell{to: closed},
		},
	}
	for _, tt := range tests {
		check := func(what string, want, got cell) {
			t.Helper()
			if got != want {
				t.Errorf("%s from %d: got %+v, want %+v", what, tt.from, got, want)
			}
		}
		to, err := tt.from.park(gen)
		check("park", tt.park, cell{to: to, err: err})
		to, won := tt.from.wake(gen)
		check("wake", tt.wake, cell{to: to, won: won})
		to, won = tt.from.wake(gen - 1)
		check("stale wake", tt.stale, cell{to: to, won: won})
		to, won = tt.from.kick()
		check("kick", tt.kick, cell{to: to, won: won})
		to, won = tt.from.take()
		check("take", tt.take, cell{to: to, won: won})
		to, won = tt.from.close()
		check("close", tt.close, cell{to: to, won: won})
	}
}

// A slot's generation goes on counting from holder to holder, also around the
// end of its range.
func TestTable(t *testing.T) {
	var tab table
	a, b, c := new(Handle), new(Handle), new(Handle)
	ia, ga := tab.add(a)
	ib, _ := tab.add(b)
	if ia == 0 || ib == 0 || ia == ib || ga != 0 {
		t.Fatalf("slots %d, %d, generation %d", ia, ib, ga)
	}
	if tab.get(ia) != a || tab.get(ib) != b || tab.get(0) != nil || tab.get(3) != nil || tab.get(1<<32-1) != nil {
		t.Fatal("wrong holders")
	}
	tab.remove(ia, 41)
	if tab.get(ia) != nil || tab.used != 1 {
		t.Fatal("slot is still held")
	}
	if i, g := tab.add(c); i != ia || g != 41 || tab.get(i) != c {
		t.Fatalf("reused slot %d, generation %d", i, g)
	}
	tab.remove(ia, 1<<32-1)
	tab.remove(ib, 2)
	for range 2 {
		i, g := tab.add(a)
		if s, g2 := splitToken(tokenOf(i, g)); s != i || g2 != g {
			t.Errorf("token of %d, %d reads %d, %d", i, g, s, g2)
		}
	}
	if tab.n != 2 {
		t.Errorf("%d slots for 2 handles", tab.n)
	}
}
