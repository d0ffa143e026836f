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
		{reading, lend}:  lent, {reading, release}: away,
		{starting, look}: reading, {starting, lend}: lent, {starting, release}: away,
		{lent, start}: reading, {lent, keep}: reading, {lent, take}: inlineReads,
		{away, start}: starting, {away, take}: inlineReads,
		{inlineReads, wait}: inlineWaits, {inlineReads, wake}: inlineOver,
		{inlineReads, start}: reading, {inlineReads, lend}: lent, {inlineReads, release}: away,
		{inlineWaits, arrive}: inlineReads, {inlineWaits, wake}: inlineOver,
		{inlineOver, start}: reading, {inlineOver, lend}: lent, {inlineOver, release}: away,
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

// An InlineReader is told of what it waits for whichever comes first, its wait or what wakes it: if that comes first
// it does not wait, else its wait is interrupted.
func TestRoleWakesTurn(t *testing.T) {
	var c Conn
	c.marks.word.Store(uint32(inlineReads))
	if c.move(wake) == inlineWaits {
		t.Error("an InlineReader is interrupted that does not wait")
	}
	if c.move(wait) == inlineReads {
		t.Error("an InlineReader waits that was woken")
	}
	c.marks.word.Store(uint32(inlineReads))
	if c.move(wait) != inlineReads {
		t.Error("an InlineReader that was not woken does not wait")
	}
	if c.move(wake) != inlineWaits {
		t.Error("an InlineReader that waits is not interrupted")
	}
	if c.move(arrive) == inlineWaits {
		t.Error("an InlineReader that was woken goes on")
	}
}
