// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// progress is what has become of the messages of a connection in one direction.
type progress struct {
	given int  // bytes of messages that programs have sent
	taken int  // bytes of those that programs have received
	loans int  // bytes beyond the windows that the receiving end may have let the other send
	waits int  // programs that wait for what arrives next
	left  bool // some program does not take what it was sent
}

// add counts a call: its messages, how many were given and taken, and whether the receiver waits for more.
func (p *progress) add(messages []int, given, taken int, waits bool) {
	p.given += bytesOf(messages[:min(given, len(messages))])
	p.taken += bytesOf(messages[:taken])
	if waits {
		p.waits++
	}
}

// lend counts what may have been lent for one of some messages, for which its receiver waits.
func (p *progress) lend(messages []int) {
	if n := largest(messages); n > maxUnlent {
		p.loans += n
	}
}

// maxUnlent is a size of messages that arrive without a loan: whoever waits for one has at least as much of the
// window left.
const maxUnlent = 65535 / 2

// checkProgress looks at what programs do on a connection that is quiet. Where all of them wait for messages, each
// that was sent has been written, has arrived, and has been taken: nobody was forgotten.
func (l *link) checkProgress() {
	if !l.quiet() {
		return
	}
	var up, down progress
	for _, k := range l.w.calls {
		switch {
		case k.link != l || !k.began || k.openErr != nil && k.unsent:
			continue
		case k.stream == nil || k.cancelled || k.late() || k.handled == 0 || k.over && !(k.status == k.code && k.gotTrailers):
			return // what was left is given back, and cannot be told
		}
		up.add(k.up, k.sent, k.handlerGot, k.taking)
		if !k.handed || k.wantsInput() {
			up.lend(k.up[k.handlerGot:])
		}
		receives := k.receiving || k.awaiting && k.handlerSent > 1
		down.add(k.down, k.handlerSent, k.got, receives)
		down.lend(k.down[k.got:])
		if k.awaitsEnd() && k.got < 2 { // it takes none of two before both have arrived
			down.lend(k.down[:2])
		}
		up.left = up.left || !k.taking && k.handlerGot < k.sent
		down.left = down.left || !receives && !k.over
	}
	up.check(l, "client", l.near.watch, l.far.watch)
	down.check(l, "server", l.far.watch, l.near.watch)
}

// check compares what was given and taken with what the one end has written, and the other has allowed.
func (p *progress) check(l *link, side string, from, to *observer) {
	w := l.w
	if w.swarm.has(staticWindow) {
		credit := 0
		for _, s := range to.streams {
			credit += s.credit
		}
		if credit > p.taken+p.loans {
			w.fail("connection %d: programs have taken %d bytes, and the %s may send %d beyond the windows of its streams", l.n, p.taken, side, credit)
		}
	}
	if p.left || p.waits == 0 || w.swarm.has(smallHeld) {
		return
	}
	w.reach(progressChecked)
	if p.taken < from.data || p.given > from.data {
		w.fail("connection %d: the %s's programs have given %d bytes, %d were written, and %d programs wait that have taken %d", l.n, side, p.given, from.data, p.waits, p.taken)
	}
}

// drainTime is more than it takes from the answer to a PING to the second step of a drain.
const drainTime = time.Second

// checkAnswers looks at what either end of a connection that is quiet owes the other.
func (l *link) checkAnswers() {
	if !l.quiet() {
		return
	}
	for _, s := range l.ends() {
		o := s.watch
		if o.pings != o.other.pongs {
			l.w.fail("connection %d: %s has sent %d PINGs, and had %d answers", l.n, s.name, o.pings, o.other.pongs)
		}
		switch {
		case !o.bye || o.lastBye < 1<<31-1:
			o.byeAt = time.Time{}
		case o.byeAt.IsZero():
			o.byeAt = time.Now()
		case time.Since(o.byeAt) > drainTime:
			l.w.fail("connection %d: %s has begun to take leave, and does not go on", l.n, s.name)
		}
	}
}
