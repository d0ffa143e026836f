// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"testing"
)

// What follows is the wake-up of a wrapper's connection as a model, of which every state
// that can be reached is looked at: bytes arrive, the wrapper takes them from the socket in
// pieces, keeps them, drops a header, sets deadlines or has a goroutine that reads ahead,
// and returns them; the reader finds out about that, waits, reads, and parks; the kernel
// wakes it, for nothing, too; the sweeper comes by; credit is given, and audited; a test is judged
// that the reader did not wait for. Between any two steps, any other may come.
//
// What the model takes for granted of time is what the pace of a trial is for: that who
// waits for input takes it, or has the lock, before the reader has looked for long (calm),
// and that the test's deadline is watched before it is met (watched).
//
// The rules are: who is parked, with no wake-up under way, has nothing to read. Nobody but
// the reader meets a deadline of ours. Who may be parked comes to that whenever it is quiet,
// without another byte, also where the transport lifts a deadline of its own after a read. Who
// waits on credit while the wrapper holds something is about to be taken out of the wait. Who was
// woken from such a wait for nothing may wait in a Read until there is more, and, if it is being tested,
// in the next Read. Who may
// not be parked, and is, is woken. The transport never takes an interruption for the end.

// kind is what a wrapper does.
type kind struct {
	name     string
	taker    bool // known to take a header, and to outlive deadlines
	header   int8
	ahead    bool // has a goroutine that reads
	deadline due  // what it makes of the read deadline when it reads
	slow     bool // the reader may take longer than the test is patient
	credit   bool // it is given credit, whatever it has done
	rests    bool // it may park before it is trusted
}

// due says whose deadline the socket has.
type due int8

const (
	nobodys due = iota
	ours
	theirs
	past // ours, of an interruption
)

// world is a state of everything.
type world struct {
	// The peer.
	toSend int8 // the header first

	// The kernel.
	socket   int8 // bytes that were not read
	received int8 // in all
	armed    bool // the poller is to be told of input
	event    bool // and is about to be
	deadline due
	lock     holder

	// The wrapper.
	drop  int8 // bytes of the header that it has not seen
	held  int8
	extra int8 // and what its goroutine has

	// The reader.
	at       place
	trust    belief
	returned int8
	taken    int8
	tests    bool // the test's deadline is to come
	wiped    bool // a deadline was lifted since the last Read
	blind    bool // the Read is not put to the test
	watched  bool // and was looked after
	kicked   bool
	credit   standing
	probes   bool // looks for what a taker holds
	brief    bool // its wait is on credit
	vain     bool // it was woken from that for nothing, and did not look
	doubted  bool
	told     bool // is to look again, parked or not: see Detect

	// The transport.
	lifted bool // has lifted the deadline of the preface
	quiet  bool // the sweeper has interrupted the reader
	worked bool // the reader has dealt with what it read, and may park at once
	broken bool // it took an interruption for the end of the connection
}

// place is where the reader stands.
type place int8

const (
	deciding  place = iota // what to do next
	looking                // at the account, without the lock
	finding                // the lock, after it was calm
	locking                // for its wait
	waiting                // on the socket, for the account not to be even
	reading                // in the wrapper, which waits for the socket
	lastLook               // before it parks
	parkingIt              // the account was even; the kernel is not told yet
	parkedIt
)

func (p place) String() string {
	return []string{"deciding", "looking", "finding", "locking", "waiting", "reading", "last look", "parking", "parked"}[p]
}

// holder has the socket's lock.
type holder int8

const (
	free holder = iota
	reader
	someone
)

// belief is trust, which not every system has.
type belief int8

const (
	believesNothing belief = iota
	believesAlone
	believes
	disbelieves
)

// standing is whether the wrapper has credit.
type standing int8

const (
	noCredit standing = iota
	hasCredit
	spentCredit
)

func (w world) even() bool { return w.received == w.returned+w.taken }

// calm reports whether a goroutine of the wrapper's that reads has nothing to do but wait.
func (w world) calm(k kind) bool {
	return !k.ahead || w.lock == someone && w.socket == 0 || w.extra > 0
}

// decide is the reader's next step, as wait takes it.
func (w world) decide(k kind) world {
	switch w.trust {
	case believesNothing:
		w.at = looking
		if !w.even() {
			w = w.enter(k)
		}
	case disbelieves:
		w = w.enter(k)
	case believesAlone, believes:
		if w.trust == believesAlone && w.wiped {
			w.blind = true
			return w.enter(k)
		}
		w.at, w.brief = locking, w.credit == hasCredit
		if w.trust == believes && w.kicked {
			w.at, w.kicked, w.brief = lastLook, false, false
			w = w.lift().interrupted()
		}
	}
	return w
}

// interrupted is what the transport makes of a wait that a deadline of ours has ended.
func (w world) interrupted() world {
	w.quiet, w.broken = false, !w.quiet
	return w
}

// enter begins a Read of the wrapper.
func (w world) enter(k kind) world {
	w.at, w.brief, w.doubted, w.worked = reading, false, false, true
	w.vain = w.vain && w.blind // a blind Read is what a test leaves that ended in a vain one
	switch {
	case w.blind:
	case k.taker && w.kicked && w.returned > 0:
		w.deadline = past
	case w.trust == believesNothing || w.trust == believesAlone:
		w.deadline, w.tests, w.watched = ours, true, false
	default:
		w = w.lift()
	}
	w.wiped = false
	return w
}

// lift takes our deadline off the socket.
func (w world) lift() world {
	tests := w.tests
	w.tests, w.watched = false, false
	if w.deadline == ours || w.deadline == past {
		w.deadline = nobodys
		w.wiped = true
	} else if w.deadline == theirs && tests {
		w.deadline = nobodys // we can't tell
		w.wiped = true
	}
	return w
}

// setDeadline lifts the deadline of the preface. During a test that is left to its end,
// unless the wrapper is read meanwhile.
func (w world) setDeadline() world {
	w.lifted = true
	if w.tests && w.at != reading {
		return w
	}
	w.wiped = w.wiped || w.trust == believesNothing || w.trust == believesAlone
	w.deadline, w.tests, w.watched = nobodys, false, false
	return w
}

func (w world) distrust() world {
	w.trust, w.told = disbelieves, true
	w.quiet = w.quiet && !w.kicked
	w.kicked = false
	if w.credit == hasCredit {
		w.credit = noCredit
	}
	return w.lift()
}

// steps are all states that may follow w.
func (w world) steps(k kind) (all []world) {
	add := func(next world) { all = append(all, next) }
	if w.toSend > 0 { // a byte arrives
		n := w
		n.toSend, n.socket, n.received = n.toSend-1, n.socket+1, n.received+1
		n.event = n.event || n.armed
		add(n)
	}
	if !w.kicked && w.trust != disbelieves && (!k.taker || w.returned > 0) { // the sweeper comes by
		n := w
		n.kicked, n.quiet = true, true
		if n.trust == believes && (n.at != reading || k.taker) {
			n.deadline = past
		}
		add(n)
	}
	if w.tests && w.trust == believesAlone && w.mayBeJudged() { // watchRest
		add(w.judge())
		if k.slow { // too late to tell whose it was
			n := w.lift()
			n.told = true
			add(n)
		}
	}
	if w.tests && !w.watched && !(w.trust == believesAlone && w.mayBeJudged()) && (k.slow || w.at == waiting || w.at == reading && w.socket+w.held+w.extra == 0) { // watchTest
		n := w
		if n.at == waiting {
			n.watched = true
		} else {
			n = n.lift()
		}
		add(n)
	}
	if k.credit {
		w.stepsOfCredit(add)
	}
	if k.ahead {
		w.stepsOfOther(add)
	}
	w.stepsOfReader(k, add)
	return all
}

// mayBeJudged reports whether nobody waits or reads under the test's deadline.
func (w world) mayBeJudged() bool {
	return w.at != reading && w.at != waiting && w.at != locking
}

// judge is the end of a test that nobody met.
func (w world) judge() world {
	if w.deadline != ours {
		return w.distrust()
	}
	w = w.lift()
	w.trust = believes
	return w
}

// stepsOfCredit give it, and end it with a look at the wait that is under way.
func (w world) stepsOfCredit(add func(world)) {
	n := w
	switch {
	case w.credit == noCredit && (w.trust == believesAlone || w.trust == believes) && w.at == waiting && w.even():
		n.credit = hasCredit
	case w.credit != hasCredit:
		return
	default:
		n.credit = noCredit
		if (w.at == waiting || w.at == locking) && w.received > w.returned+w.taken+w.socket {
			n.credit, n.doubted, n.deadline = spentCredit, true, past
		}
	}
	add(n)
}

// stepsOfOther are those of the wrapper's goroutine.
func (w world) stepsOfOther(add func(world)) {
	n := w
	switch {
	case w.extra > 0: // it hands on what it has, in Read
		return
	case w.lock == free:
		n.lock = someone
	case w.lock == someone && w.socket > 0:
		n.extra, n.socket, n.lock = n.socket, 0, free
	default:
		return
	}
	add(n)
}

func (w world) stepsOfReader(k kind, add func(world)) {
	n := w
	switch w.at {
	case deciding:
		if !w.lifted && w.returned > 0 {
			add(w.setDeadline())
		}
		if w.worked && k.rests && (w.trust == believesAlone || w.trust == believes) {
			n.at, n.worked = lastLook, false
			add(n)
		}
		w.worked = false
		add(w.decide(k))
	case looking:
		switch {
		case w.even():
			if w.calm(k) {
				n.at = finding
				add(n)
			}
		case w.received > w.returned+w.taken+w.socket:
			add(w.distrust().enter(k))
		default:
			add(w.enter(k))
			if w.calm(k) { // the bytes lay there for long
				n.trust = believesAlone
				add(n.enter(k))
			}
		}
	case finding:
		switch {
		case w.lock == free && !w.even():
			add(w.enter(k))
		case w.lock == free:
			n.trust, n.at = believesAlone, deciding
			add(n) // in the middle of a frame
			if k.rests && n.tests {
				n.at = lastLook
				add(n)
			}
		case w.lock == someone:
			n = w.distrust()
			n.at = deciding
			add(n)
		}
	case locking:
		if w.lock == free {
			n.at, n.lock = waiting, reader
			add(n)
		}
	case waiting:
		w.stepsOfWait(k, add)
	case reading:
		w.stepsOfRead(k, add)
	case lastLook: // TryRead
		switch {
		case w.even() && w.trust == believesAlone && !w.tests:
			n.at = deciding
		case w.even() && w.trust != disbelieves:
			n.at = parkingIt
		case k.taker && w.returned > 0 && !w.kicked:
			n.kicked, n.probes = true, true
			n = n.enter(k)
		default:
			n = n.enter(k)
		}
		add(n)
	case parkingIt: // the kernel looks at the socket when it is armed
		if w.told {
			n.at, n.told = deciding, false
			add(n)
			return
		}
		n.at, n.armed, n.event = parkedIt, true, w.socket > 0
		add(n)
	case parkedIt:
		if w.event || w.kicked || w.told {
			n.at, n.armed, n.event, n.told = deciding, false, false, false
			add(n)
		}
	}
}

// stepsOfWait are those of a reader that has the lock.
func (w world) stepsOfWait(k kind, add func(world)) {
	n := w
	n.lock = free
	if w.brief && w.socket == 0 { // woken for what was read already
		v := n.enter(k)
		v.vain = true
		add(v)
	}
	switch {
	case w.doubted:
		add(n.lift().enter(k))
	case w.brief && w.socket > 0, !w.brief && !w.even():
		add(n.enter(k))
	case w.deadline == past: // interrupted
		n.at, n.kicked, n.brief = lastLook, false, false
		add(n.lift().interrupted())
	case w.deadline == ours && w.watched: // the test's deadline
		n.trust, n.at = believes, deciding
		add(n.lift())
		if k.slow { // too late to tell whose it was
			n = w.lift()
			n.lock, n.at = free, deciding
			add(n)
		}
	case w.deadline == theirs, w.tests && w.watched && w.deadline != ours: // another one, or it is overdue
		n = n.distrust()
		n.at = deciding
		add(n)
	}
}

// stepsOfRead are those of a reader that waits in the wrapper.
func (w world) stepsOfRead(k kind, add func(world)) {
	if k.slow && !w.lifted {
		add(w.setDeadline())
	}
	w.deadline = k.apply(w.deadline)
	n := w
	if k.ahead {
		if w.extra > 0 {
			n.returned, n.extra, n.at, n.blind = n.returned+n.extra, 0, deciding, false
			add(n)
		}
		return
	}
	for got := int8(1); got <= w.socket && w.held == 0; got++ { // it takes some of the socket's
		n := w
		n.socket -= got
		d := min(got, n.drop)
		n.drop, n.held = n.drop-d, n.held+got-d
		add(n)
	}
	for out := int8(1); out <= w.held; out++ { // it returns some of what it holds
		n := w
		n.held, n.returned, n.at, n.blind = n.held-out, n.returned+out, deciding, false
		if n.probes {
			n.kicked, n.probes = false, false
			n = n.lift()
		}
		add(n)
	}
	if k.taker && w.deadline == past && w.held == 0 { // the deadline ends it
		if n.socket == 0 {
			n.taken = n.received - n.returned
		}
		n.kicked, n.at = false, lastLook
		if !n.probes {
			n = n.interrupted()
		}
		n.probes = false
		add(n.lift())
	}
}

// apply is what the wrapper makes of the socket's deadline.
func (k kind) apply(d due) due {
	if k.deadline == nobodys {
		return d
	}
	if k.deadline == past { // it clears the deadline
		return nobodys
	}
	return k.deadline
}

// wrong says what is wrong with w, "" if nothing is.
func (w world) wrong(k kind) string {
	has := w.held > 0 || w.extra > 0
	switch {
	case w.at == parkedIt && has:
		return "parked, and the wrapper holds something"
	case w.at == parkedIt && w.socket > 0 && !w.event:
		return "parked, and the socket has something"
	case w.at == waiting && has && w.even():
		return "waiting, and the wrapper holds something"
	case w.at == waiting && has && w.brief && w.credit != hasCredit && !w.doubted:
		return "waiting on credit for good, and the wrapper holds something"
	case w.at == parkingIt && has:
		return "about to park, and the wrapper holds something"
	case w.at == reading && w.deadline == ours && w.watched:
		return "the wrapper meets the deadline of the test"
	case w.at == reading && w.deadline == past && !k.taker:
		return "the wrapper meets a deadline that is to interrupt the reader"
	case w.lock == someone && (w.watched || w.deadline == past):
		return "the wrapper's goroutine meets a deadline of ours"
	case w.broken:
		return "the transport takes an interruption for the end"
	case w.trust == believes && (k.ahead || k.deadline != nobodys):
		return "it is trusted"
	}
	return ""
}

// parks reports whether the connection of such a wrapper has no reader when it is quiet.
func (k kind) parks() bool {
	return k.taker || k.header == 0 && !k.ahead && k.deadline == nobodys
}

func TestWakeUpModel(t *testing.T) {
	for _, k := range []kind{
		{name: "plain"},
		{name: "plain, slow reader", slow: true},
		{name: "plain, rests", rests: true},
		{name: "plain, slow reader, rests, with credit", slow: true, rests: true, credit: true},
		{name: "sets deadlines, rests", deadline: theirs, rests: true},
		{name: "clears deadlines, rests", deadline: past, rests: true},
		{name: "reads ahead, rests", ahead: true, rests: true},
		{name: "plain, with credit", credit: true},
		{name: "plain, slow reader, with credit", slow: true, credit: true},
		{name: "drops a header", header: 2},
		{name: "reads ahead", ahead: true},
		{name: "reads ahead, slow reader", ahead: true, slow: true},
		{name: "sets deadlines", deadline: theirs},
		{name: "clears deadlines", deadline: past},
		{name: "sets deadlines, slow reader", deadline: theirs, slow: true},
		{name: "taker", taker: true},
		{name: "taker of 1", taker: true, header: 1},
		{name: "taker of 2", taker: true, header: 2},
		{name: "taker of 3", taker: true, header: 3},
		{name: "taker of 2, with credit", taker: true, header: 2, credit: true},
	} {
		t.Run(k.name, func(t *testing.T) { explore(t, k) })
	}
}

// explore looks at every state that can be reached.
func explore(t *testing.T, k kind) {
	begin := world{toSend: k.header + 5, drop: k.header}
	if k.taker {
		begin.trust = believes
	}
	from := map[world]world{begin: begin}
	fail := func(w world, what string) {
		for ; w != begin; w = from[w] {
			t.Logf("%+v", w)
		}
		t.Fatal(what)
	}
	rests, parks := 0, 0
	for queue := []world{begin}; len(queue) > 0; queue = queue[1:] {
		w := queue[0]
		if what := w.wrong(k); what != "" {
			fail(w, what)
		}
		next := w.steps(k)
		for _, n := range next {
			if _, seen := from[n]; !seen {
				from[n] = w
				queue = append(queue, n)
			}
		}
		// Left alone with everything sent, the reader gets to the end of it.
		atRest := w.at == parkedIt && !w.event && !w.kicked && !w.tests && !w.told
		if w.toSend > 0 || len(next) > 0 && !atRest {
			continue
		}
		rests++
		if w.socket > 0 || w.held > 0 || w.extra > 0 || w.returned != 5 {
			fail(w, "at rest, and not all has arrived")
		}
		if w.at == parkedIt {
			parks++
			if !k.parks() {
				fail(w, "parked for good")
			}
		} else if k.parks() && !k.slow && !(w.at == reading && w.vain) {
			fail(w, "at rest, and not parked")
		}
	}
	t.Logf("%d states, %d at rest, %d parked", len(from), rests, parks)
	if rests == 0 {
		t.Error("it never comes to rest")
	}
	if k.parks() != (parks > 0) {
		t.Errorf("parked in %d states", parks)
	}
}
