// SPDX-License-Identifier: Apache-2.0

package protocol

import "testing"

// lives are the states that a life can be in: all that the events below lead to.
func lives() map[life]bool {
	seen := map[life]bool{}
	next := []life{{}}
	for len(next) > 0 {
		l := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[l] {
			continue
		}
		seen[l] = true
		for _, ev := range lifeEvents {
			after := l
			ev.happen(&after)
			next = append(next, after)
		}
	}
	return seen
}

// lifeEvents is everything that can happen, and what is to hold of each transition.
var lifeEvents = []struct {
	name   string
	happen func(*life) duty
	check  func(t *testing.T, before, after life, d duty)
}{
	{"start", func(l *life) duty { d, _ := l.start(); return d }, func(t *testing.T, before, after life, d duty) {
		want := duty(0)
		if before.stage == Fresh && before.drain == announced && before.exit < farewell {
			want = sayAnnouncement
		}
		wantDuty(t, d, want)
		before.stage = max(before.stage, running)
		wantLife(t, after, before)
	}},
	{"kill", func(l *life) duty { l.kill(); return 0 }, func(t *testing.T, before, after life, _ duty) {
		before.stage = Dead
		wantLife(t, after, before)
	}},
	{"silence", func(l *life) duty { l.silence(); return 0 }, func(t *testing.T, before, after life, _ duty) {
		before.mute = true
		wantLife(t, after, before)
	}},
	{"announce", (*life).announce, func(t *testing.T, before, after life, d duty) {
		want := duty(0)
		if before.stage != Dead && before.drain == notDraining {
			before.drain = announced
			if before.stage == running && before.exit < farewell {
				want = sayAnnouncement
			}
		}
		wantDuty(t, d, want)
		wantLife(t, after, before)
	}},
	{"pong", func(l *life) duty { l.pong(); return 0 }, func(t *testing.T, before, after life, _ duty) {
		if first := before.drain == announced; first != new(before).pong() {
			t.Errorf("first %v", !first)
		} else if first {
			before.drain = answered
		}
		wantLife(t, after, before)
	}},
	{"endDrain", (*life).endDrain, func(t *testing.T, before, after life, d duty) {
		want := duty(0)
		if before.stage == running && (before.drain == announced || before.drain == answered) {
			want = refuseWaiters
			if before.exit < farewell {
				want |= sayFarewell
			}
			before.drain, before.exit = drainOver, max(before.exit, farewell)
		}
		wantDuty(t, d, want)
		wantLife(t, after, before)
	}},
	{"leave", (*life).leave, func(t *testing.T, before, after life, d duty) {
		if before.stage != Dead {
			before.exit = max(before.exit, leaving)
			wantDuty(t, d, refuseWaiters)
		}
		wantLife(t, after, before)
	}},
	{"the server leaves", func(l *life) duty { return l.peerLeaves(Client) }, func(t *testing.T, before, after life, d duty) {
		before.peerLeft = true
		if before.stage != Dead {
			before.exit = max(before.exit, leaving)
			wantDuty(t, d, refuseWaiters)
		}
		wantLife(t, after, before)
	}},
	{"the client leaves", func(l *life) duty { return l.peerLeaves(Server) }, func(t *testing.T, before, after life, d duty) {
		before.peerLeft = true
		wantDuty(t, d, 0)
		wantLife(t, after, before)
	}},
	{"admit", func(l *life) duty { l.admit(); return 0 }, func(t *testing.T, before, after life, _ duty) {
		before.admitting = true
		wantLife(t, after, before)
	}},
	{"decided", func(l *life) duty { l.decided(); return 0 }, func(t *testing.T, before, after life, _ duty) {
		before.admitting = false
		wantLife(t, after, before)
	}},
	{"finish, with a stream", func(l *life) duty { return l.finish(1, false) }, func(t *testing.T, before, after life, d duty) {
		wantDuty(t, d, 0)
		wantLife(t, after, before)
	}},
	{"finish, unsent", func(l *life) duty { return l.finish(0, true) }, checkFinish(true)},
	{"finish", func(l *life) duty { return l.finish(0, false) }, checkFinish(false)},
	{"breakOff", func(l *life) duty { l.breakOff(); return 0 }, func(t *testing.T, before, after life, _ duty) {
		can, said := new(before).breakOff()
		if can != (before.stage != Dead && !before.mute) || said != (can && before.exit == farewell) {
			t.Errorf("can %v, said %v", can, said)
		}
		if can {
			before.exit = gone
		}
		wantLife(t, after, before)
	}},
}

func checkFinish(unsent bool) func(*testing.T, life, life, duty) {
	return func(t *testing.T, before, after life, d duty) {
		want := duty(0)
		switch {
		case before.stage != running || before.admitting:
		case before.exit == leaving:
			before.exit, want = farewell, sayFarewell
		case before.exit == farewell && !unsent:
			before.exit, before.mute, want = gone, true, part
		}
		wantDuty(t, d, want)
		wantLife(t, after, before)
	}
}

func wantDuty(t *testing.T, got, want duty) {
	t.Helper()
	if got != want {
		t.Errorf("duty %b, want %b", got, want)
	}
}

func wantLife(t *testing.T, got, want life) {
	t.Helper()
	if got != want {
		t.Errorf("it is then %+v, want %+v", got, want)
	}
}

// TestLifeTransitions has everything happen in every state that can come about.
func TestLifeTransitions(t *testing.T) {
	all := lives()
	if len(all) < 100 {
		t.Fatalf("there are %d states only", len(all))
	}
	for before := range all {
		for _, ev := range lifeEvents {
			after := before
			d := ev.happen(&after)
			ev.check(t, before, after, d)
			// Nothing goes back, and who is dead does nothing.
			if after.stage < before.stage || after.drain < before.drain || after.exit < before.exit || before.mute && !after.mute {
				t.Errorf("back from %+v to %+v", before, after)
			}
			if before.stage == Dead && d != 0 {
				t.Errorf("dead, and has to do %b", d)
			}
			if after.stage == Fresh && d&^refuseWaiters != 0 {
				t.Errorf("before the preface, and has to do %b", d)
			}
			if t.Failed() {
				t.Fatalf("%s in %+v", ev.name, before)
			}
		}
	}
}

// Whatever happens, each of the duties that are said on the wire comes once at most, and
// the announcement, which names the highest stream of all, not after a last GOAWAY.
func TestLifeSaysOnce(t *testing.T) {
	type told struct {
		life
		said duty
	}
	seen := map[told]bool{}
	var walk func(told)
	walk = func(at told) {
		if seen[at] {
			return
		}
		seen[at] = true
		for _, ev := range lifeEvents {
			next := at
			d := ev.happen(&next.life) &^ refuseWaiters
			if again := d & at.said; again != 0 {
				t.Fatalf("%s in %+v: %b again", ev.name, at, again)
			}
			if d.has(sayAnnouncement) && at.exit >= farewell {
				t.Fatalf("%s in %+v: announced", ev.name, at)
			}
			next.said |= d
			walk(next)
		}
	}
	walk(told{})
}

func TestLifeQueries(t *testing.T) {
	for l := range lives() {
		opens := l.stage != Dead && l.drain == notDraining && l.exit == staying && !l.mute
		if l.opens() != opens || l.takesNone() != (l.exit == farewell || l.exit == gone) || l.dead() != (l.stage == Dead) {
			t.Errorf("%+v: opens %v, takesNone %v, dead %v", l, l.opens(), l.takesNone(), l.dead())
		}
	}
}
