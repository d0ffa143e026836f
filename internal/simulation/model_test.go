// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
)

// The reference model: what may have become of a call, by what was done to it and to its
// connection.

// late reports whether the deadline has passed.
func (k *call) late() bool { return k.deadline > 0 && time.Since(k.begun) >= k.deadline }

// mayDie reports whether connections may end without a fault: keepalive's answers take long where
// time passes while the goroutines stand still.
func (w *world) mayDie() bool { return w.swarm.has(keepalives) && w.passed >= time.Second }

// leaves reports whether either side may take no more calls.
func (l *link) leaves() bool { return l.drained || l.w.swarm.has(ages) && l.w.passed > 0 }

// parks reports whether connections that are idle are parked.
func (w *world) parks() bool { return w.mayPark() && !w.swarm.has(fewWatches) }

// mayPark reports whether they are parked where the kernel does not refuse.
func (w *world) mayPark() bool {
	for _, f := range []feature{keepalives, plainConns, unpooled} {
		if w.swarm.has(f) {
			return false
		}
	}
	return true
}

// mayOverflow reports whether what the windows allow for may be more than the account does.
func (w *world) mayOverflow() bool { return w.swarm.has(smallHeld) && w.swarm.has(bulk) }

// mayEnd reports whether the connection may have ended.
func (l *link) mayEnd() bool {
	// Whoever has taken leave waits for the other a second at a time.
	late := (l.drained || l.w.swarm.has(ages)) && l.w.passed >= time.Second
	return l.disturbed != "" || late || l.w.mayDie() || l.w.mayOverflow() || l.slow()
}

// allows reports whether a call may end with a status that no handler has given it.
func (k *call) allows(c codes.Code) bool {
	l := k.link
	switch c {
	case codes.Canceled:
		return k.cancelled || l.host != nil && l.w.balanced.closed
	case codes.DeadlineExceeded:
		return k.late()
	case codes.Unavailable:
		return l.mayEnd() || l.leaves() && (k.unprocessed || k.openErr != nil) || l.w.places > 0 && k.unprocessed && l.most > l.w.places ||
			l.w.swarm.has(smallHeld) && k.unprocessed
	case codes.ResourceExhausted: // ENHANCE_YOUR_CALM
		return l.w.swarm.has(smallHeld) && k.handled == 0
	}
	return false
}

// checkOpen follows a call that was not opened.
func (k *call) checkOpen(err error) {
	k.w.points[firstStatus+point(k.status)]++
	if !k.allows(k.status) {
		k.w.fail("call %d was not opened, and nothing was wrong: %v", k.n, err)
	}
}

// checkEnd follows the end of a call, as its client sees it.
func (k *call) checkEnd() {
	w := k.w
	w.points[firstStatus+point(k.status)]++
	if k.unprocessed && k.handled > 0 {
		w.fail("call %d is said not to be processed, and a handler has begun", k.n)
	}
	if k.refused && k.handled > 0 {
		w.fail("call %d was refused, and a handler has begun", k.n)
	}
	if k.got > k.handlerSent+1 {
		w.fail("call %d has brought %d messages, %d were sent", k.n, k.got, k.handlerSent)
	}
	if k.status == k.code && k.gotTrailers {
		if k.handled == 0 && !k.refused {
			w.fail("call %d has an end that no handler has given it", k.n)
		} else if k.got != k.handlerSent {
			w.fail("call %d ended with %v after %d messages, %d were sent", k.n, k.status, k.got, k.handlerSent)
		}
		if k.handlerErr == nil && k.handlerSent != len(k.down) {
			w.fail("call %d: the handler has sent %d of %d messages, and nothing was wrong", k.n, k.handlerSent, len(k.down))
		}
		return
	}
	if !k.allows(k.status) {
		w.fail("call %d ended with %v, the handler's is %v, and nothing was wrong: %v", k.n, k.status, k.code, k.stream.Status())
	}
}

// checkAllArrived follows the end of the client's messages, as the handler sees it.
func (k *call) checkAllArrived() {
	if k.handlerGot != len(k.up) {
		k.w.fail("call %d: the end has come after %d messages, there are %d", k.n, k.handlerGot, len(k.up))
	}
}

// checkHandlerErr follows a receive of the handler that failed.
func (k *call) checkHandlerErr(err error) {
	switch c := codeOf(err); {
	case k.link.mayEnd(), k.cancelled, k.late():
	default:
		k.w.fail("call %d: a receive of the handler fails with %v, and nothing was wrong: %v", k.n, c, err)
	}
}

// checkQuiet looks at all that must hold when nothing can happen without the clock.
func (w *world) checkQuiet() {
	for _, l := range w.links {
		for _, s := range l.ends() {
			w.checkInput(s)
		}
		l.checkWindows()
		l.checkAccounts()
		l.checkProgress()
		l.checkAnswers()
	}
	for _, k := range w.calls {
		k.checkWaits()
	}
	if w.balanced != nil {
		w.balanced.checkQuiet()
	}
}

// checkWaits finds a call that waits for what it need not wait for.
func (k *call) checkWaits() {
	if k.began && k.stream == nil && k.openErr == nil && k.link.leftHeard {
		k.w.fail("call %d waits for a place on a connection that takes leave", k.n)
	}
	// A handler's time begins when the call arrives. Where that is up it waits for nothing more.
	if k.deadline > 0 && k.handled > 0 && !k.handlerDone && time.Since(k.handledAt) > k.deadline+time.Millisecond {
		k.w.fail("call %d has a handler %v after it began, and a deadline of %v", k.n, time.Since(k.handledAt), k.deadline)
	}
}

// checkInput finds a lost wake-up: what has arrived and nobody is going to read.
func (w *world) checkInput(s *socket) {
	if s.closed || s.input.unread() == 0 || s.broken != nil || s.peer.stalled || s.peer.room() <= 0 {
		return
	}
	if w.swarm.has(fewStreams) || s.link.server == nil {
		return // the reader may wait for a handler, or there is none yet
	}
	w.fail("%s: %d bytes have arrived, and nobody is to be woken", s.name, s.input.unread())
}

// undisturbed reports whether nothing is on its way, nor held up, nor closed.
func (l *link) undisturbed() bool {
	for _, s := range l.ends() {
		if s.input.len() > 0 || s.stalled || s.closed || s.broken != nil || s.shut || s.room() <= 0 {
			return false
		}
	}
	return l.server != nil && l.disturbed == ""
}

// quiet reports whether a connection is undisturbed that both ends have, and neither has ended.
func (l *link) quiet() bool {
	return l.undisturbed() && l.client != nil && l.clientClosed+l.serverClosed == 0
}

func (l *link) checkWindows() {
	if !l.quiet() {
		return
	}
	c, s := l.client.Stats(), l.server.Stats()
	if c.SendWindow != s.RecvWindow || s.SendWindow != c.RecvWindow {
		l.w.fail("connection %d: the client may send %d and be sent %d, the server may be sent %d and send %d",
			l.n, c.SendWindow, c.RecvWindow, s.RecvWindow, s.SendWindow)
	}
	if c.RecvWindow < 65535/2 || s.RecvWindow < 65535/2 {
		l.w.fail("connection %d: all was read, and the windows are %d and %d", l.n, c.RecvWindow, s.RecvWindow)
	}
	if c.Streams != s.Streams {
		l.w.fail("connection %d: the client has %d streams, the server %d", l.n, c.Streams, s.Streams)
	}
	l.w.reach(windowsCompared)
}

// checkAccounts compares what is charged with what is held.
func (l *link) checkAccounts() {
	if !l.quiet() {
		return
	}
	up, down, open := 0, 0, 0  // bytes that were taken
	upGiven, downGiven := 0, 0 // and given
	// What may lie unread: windows, and one message that the reader has made room for, or that was taken and is
	// not counted yet.
	upWindows, downWindows := 0, 0
	upNext, downNext := 0, 0 // and of the longest messages that are yet to be taken
	for _, k := range l.w.calls {
		if k.link != l || !k.began || k.stream == nil && k.openErr == nil {
			continue
		}
		if k.over || k.cancelled || k.handled == 0 || k.handlerDone || k.finished {
			return // what was left is given back, and cannot be told
		}
		open++
		upGiven, upWindows = upGiven+bytesOf(k.up[:k.sent])+largest(k.up), upWindows+65535+largest(k.up)
		downGiven, downWindows = downGiven+bytesOf(k.down[:min(k.handlerSent, len(k.down))])+largest(k.down), downWindows+65535+largest(k.down)
		if k.awaitsEnd() {
			downWindows += largest(k.down) // the second message, which it has waited for before it takes the first
		}
		up += bytesOf(k.up[:k.handlerGot])
		down += bytesOf(k.down[:k.got])
		upNext += largest(k.up[k.handlerGot:])
		downNext += largest(k.down[k.got:])
	}
	l.checkAccount("server", l.server.Stats(), l.near.watch.data-up, downGiven-l.far.watch.data, min(upNext, l.near.watch.data), open)
	l.checkAccount("client", l.client.Stats(), l.far.watch.data-down, upGiven-l.near.watch.data, min(downNext, l.far.watch.data), open)
	_, lent := l.w.pool.state()
	most := lent + open*8192 + 32768
	if l.w.swarm.has(plainConns) || l.w.swarm.has(unpooled) {
		most += 2 * 40000 // read buffers that are not the pool's
	}
	if c, s := l.client.Stats().Held, l.server.Stats().Held; len(l.w.links) == 1 && c+s > most {
		l.w.fail("connection %d: %d and %d bytes are charged, and %d are lent", l.n, c, s, lent)
	}
	if l.w.swarm.has(staticWindow) && (l.near.watch.data-up > upWindows || l.far.watch.data-down > downWindows) {
		l.w.fail("connection %d: %d and %d bytes lie unread, the windows allow %d and %d", l.n,
			l.near.watch.data-up, l.far.watch.data-down, upWindows, downWindows)
	}
}

// maxUncharged is what a reader that the sweeper watches may leave uncharged while it waits.
const maxUncharged = 1 << 10

// checkAccount compares what one end says that it holds with the bytes that nobody has taken. next is the size
// of the messages whose whole memory may be reserved as soon as they begin: the peer has sent as much before.
// The pool's buffers are up to twice as large.
func (l *link) checkAccount(side string, s transport.ConnStats, unread, unsent, next, open int) {
	if unread > 0 {
		l.w.reach(accountCompared)
	}
	if s.Held < unread-maxUncharged {
		l.w.fail("connection %d: %d bytes lie unread, and the %s is charged with %d", l.n, unread, side, s.Held)
	}
	if unread == 0 {
		next = 0
	}
	if most := max(4*unread, 2*next+unread) + 4*max(unsent, 0) + open*8192 + 65536; s.Held > most {
		l.w.fail("connection %d: %d bytes lie unread, and the %s is charged with %d", l.n, unread, side, s.Held)
	}
}

// bytesOf is what messages take on the wire, as DATA.
func bytesOf(messages []int) (n int) {
	for _, m := range messages {
		n += m + 5
	}
	return n
}

// largest is the same of the longest.
func largest(messages []int) (n int) {
	for _, m := range messages {
		n = max(n, m+5)
	}
	return n
}
