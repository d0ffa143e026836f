// SPDX-License-Identifier: Apache-2.0

package h2

import "testing"

// TestRole: each event in each state.
func TestRole(t *testing.T) {
	type step struct {
		from role
		ev   roleEvent
	}
	moves := map[step]role{
		{reads, start}: reads, {reads, lend}: lent, {reads, rest}: away,
		{taken, start}: reads, {taken, lend}: lent, {taken, rest}: away,
		{lent, start}: reads, {lent, keep}: reads, {lent, take}: taken,
		{away, start}: reads, {away, take}: taken,
	}
	for from := range roles {
		for ev := range roleEvents {
			want, possible := moves[step{from, ev}]
			if !possible {
				want = from
			}
			next, missed := from.on(ev)
			if next != want {
				t.Errorf("%d after event %d: %d, want %d", from, ev, next, want)
			}
			if missed != (from == lent && ev == start) {
				t.Errorf("%d after event %d: missed is %t", from, ev, missed)
			}
		}
	}
}
