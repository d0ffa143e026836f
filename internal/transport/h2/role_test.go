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
		{opening, begin}: reading,
		{reading, lend}:  lent, {reading, rest}: away,
		{starting, look}: reading, {starting, lend}: lent, {starting, rest}: away,
		{lent, start}: reading, {lent, keep}: reading, {lent, take}: turnReads,
		{away, start}: starting, {away, take}: turnReads,
		{turnReads, wait}: turnWaits, {turnReads, wake}: turnOver,
		{turnReads, start}: reading, {turnReads, lend}: lent, {turnReads, rest}: away,
		{turnWaits, arrive}: turnReads, {turnWaits, wake}: turnOver,
		{turnOver, start}: reading, {turnOver, lend}: lent, {turnOver, rest}: away,
	}
	for from := range roles {
		for ev := range roleEvents {
			want, possible := moves[step{from, ev}]
			if !possible {
				want = from
			}
			if next := from.on(ev); next != want {
				t.Errorf("%d after event %d: %d, want %d", from, ev, next, want)
			}
			var c Conn
			c.marks.word.Store(uint32(from))
			if was := c.move(ev); was != from || c.whoReads() != want {
				t.Errorf("%d moved by event %d: was %d and is %d, want %d", from, ev, was, c.whoReads(), want)
			}
		}
	}
}

// A Turn is told of what it waits for whichever comes first, its wait or what wakes it: if that comes first
// it does not wait, else its wait is interrupted.
func TestRoleWakesTurn(t *testing.T) {
	var c Conn
	c.marks.word.Store(uint32(turnReads))
	if c.move(wake) == turnWaits {
		t.Error("a Turn is interrupted that does not wait")
	}
	if c.move(wait) == turnReads {
		t.Error("a Turn waits that was woken")
	}
	c.marks.word.Store(uint32(turnReads))
	if c.move(wait) != turnReads {
		t.Error("a Turn that was not woken does not wait")
	}
	if c.move(wake) != turnWaits {
		t.Error("a Turn that waits is not interrupted")
	}
	if c.move(arrive) == turnWaits {
		t.Error("a Turn that was woken goes on")
	}
}
