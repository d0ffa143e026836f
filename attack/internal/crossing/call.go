// SPDX-License-Identifier: Apache-2.0

package crossing

import (
	"time"

	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/attack/internal/side"
	"google.golang.org/grpc/codes"
)

// call is a call, and the programs at both ends of it.
type call struct {
	w *world
	n int

	// What its programs are to do.
	kind     side.Kind
	up, down []int // sizes of messages that are left to be sent
	deadline time.Duration
	reply    int
	code     codes.Code

	// The client.
	started    bool
	startedAt  int  // how many disturbances there were then
	hadConn    bool // there was a connection for it then
	hadLost    bool // there was one that the client did not know to be lost
	by         time.Duration
	sending    bool // a send has not returned
	sent       int
	halfClosed bool
	receiving  bool // a receive was ordered
	received   int
	cancelled  bool
	over       bool

	// The handler.
	conn       int // where it began
	busy       bool
	handed     int // messages it has received
	readAll    bool
	sentDown   int // messages it has sent without an error
	returned   bool
	contextEnd bool
}

func (w *world) newCall(n int) *call {
	k := &call{w: w, n: n, code: w.code(), reply: w.size()}
	if !w.has(unaries) || w.rarely(2) {
		k.kind |= side.Streaming
	}
	if w.rarely(2) {
		k.kind |= side.WaitForReady
	}
	most := 4
	if w.has(windows) {
		most = 8
	}
	if w.has(compresses) && w.rarely(4) {
		k.kind |= side.Compressed
	}
	for range w.pick(most) {
		k.up = append(k.up, w.size())
	}
	for range w.pick(most) {
		k.down = append(k.down, w.size())
	}
	if w.has(deadlines) && w.rarely(2) {
		k.deadline = time.Duration(1+w.pick(5000)) * time.Millisecond
	}
	return k
}

func (k *call) streaming() bool { return k.kind&side.Streaming != 0 }

// options appends what the programs of the call may do now.
func (k *call) options(list []option) []option {
	w := k.w
	add := func(who side.Role, f func()) { list = append(list, option{who, f}) }
	switch {
	case !k.started:
		add(side.Client, k.start)
	case k.over:
	case k.streaming():
		if !k.sending && !k.halfClosed && !(k.receiving && k.locks()) {
			add(side.Client, k.send)
		}
		if !k.receiving && !(k.sending && k.locks()) && (w.settling || !w.has(lazyReads) || w.rarely(3)) {
			add(side.Client, func() {
				k.receiving = true
				w.order(side.Client, side.Message{Op: side.Recv, Call: k.n})
			})
		}
	}
	if k.conn > 0 && !k.returned && !k.busy {
		add(side.Server, k.handle)
	}
	return list
}

// locks reports whether the client may hold a lock of the call while it looks for a connection once more, as both
// implementations do. Who waits for a lock is not at rest, as a bubble sees it.
func (k *call) locks() bool { return k.conn == 0 }

// published reports whether the client is one of the published module's.
func (k *call) published() bool { return k.w.parties[side.Client].impl == process.Published }

func (k *call) start() {
	k.started, k.startedAt = true, k.w.disturbed
	for _, c := range k.w.conns {
		k.hadConn = k.hadConn || c.ready && !c.disturbed && !c.drained
		k.hadLost = k.hadLost || c.up && c.disturbed && !c.ends[side.Client].closed
	}
	k.w.reach(Calls)
	m := side.Message{Op: side.Start, Call: k.n, N: k.kind, D: k.deadline}
	if k.deadline > 0 {
		k.by = k.w.now + k.deadline
	}
	if !k.streaming() {
		m.M = k.w.size()
	}
	k.w.order(side.Client, m)
}

func (k *call) send() {
	k.sending = true
	if len(k.up) == 0 {
		k.halfClosed = true
		k.w.order(side.Client, side.Message{Op: side.CloseSend, Call: k.n})
		return
	}
	k.w.order(side.Client, side.Message{Op: side.Send, Call: k.n, N: k.up[0]})
	k.up = k.up[1:]
}

// handle has the handler do something.
func (k *call) handle() {
	w := k.w
	receives, sends := k.streaming() && !k.readAll, k.streaming() && len(k.down) > 0
	if receives && w.settling {
		receives = w.rarely(2)
	}
	switch {
	case w.has(earlyReturns) && w.rarely(6), !receives && !sends:
		k.returned = true
		w.order(side.Server, side.Message{Op: side.Return, Call: k.n, N: int(k.code), M: k.reply})
	case receives && (!sends || w.rarely(2)):
		k.busy = true
		w.order(side.Server, side.Message{Op: side.Recv, Call: k.n})
	default:
		k.busy = true
		w.order(side.Server, side.Message{Op: side.Send, Call: k.n, N: k.down[0]})
		k.down = k.down[1:]
	}
}

// hear takes note of an event.
func (k *call) hear(r side.Role, m side.Message) {
	if r == side.Server {
		k.hearHandler(m)
		return
	}
	switch m.Op {
	case side.Sent:
		k.sending = false
		if !k.halfClosed { // else it is the end that has been sent
			k.sent += m.N
			if m.N == 0 && !k.returned && !k.mayEnd() {
				k.w.fail("call %d: a send fails, and nothing was wrong", k.n)
			}
		}
	case side.Received:
		k.receiving = false
		k.received++
	case side.Over:
		if k.over {
			k.w.fail("call %d is over twice", k.n)
		}
		k.over = true
		k.judge(codes.Code(m.N), string(m.Data), m.M != 0)
	}
}

func (k *call) hearHandler(m side.Message) {
	switch m.Op {
	case side.Began:
		if k.conn > 0 {
			k.w.fail("call %d has a second handler", k.n)
		}
		k.conn = m.Conn
		k.w.conns[k.conn-1].ready = true
		k.busy = !k.streaming() // with its request
	case side.Sent:
		k.busy = false
		k.sentDown += m.N
		if m.N == 0 && !k.mayEnd() {
			k.w.fail("call %d: a send of the handler's fails, and nothing was wrong", k.n)
		}
	case side.Received:
		k.busy = false
		k.handed++
	case side.HalfDone:
		k.busy, k.readAll = false, true
		if !k.halfClosed {
			k.w.fail("call %d: the handler is told of the end of the messages, and there is none", k.n)
		}
		if k.handed < k.sent {
			k.w.fail("call %d: the handler has all %d messages, and %d were sent", k.n, k.handed, k.sent)
		}
	case side.Failed:
		k.busy, k.readAll = false, true
		if !k.mayEnd() {
			k.w.fail("call %d: a receive of the handler's fails, and nothing was wrong", k.n)
		}
	case side.Done:
		k.contextEnd = true
		if !k.returned && !k.mayEnd() {
			k.w.fail("call %d: the context of the handler has ended, and nothing was wrong", k.n)
		}
	}
}

// mayEnd reports whether the call may end before its handler has returned.
func (k *call) mayEnd() bool {
	return k.cancelled || k.over || k.late() || k.w.closed || k.unavailable()
}

func (k *call) late() bool { return k.by > 0 && k.w.now >= k.by }

// unavailable reports whether the call may fail for want of a connection.
func (k *call) unavailable() bool {
	if k.conn > 0 {
		return k.w.conns[k.conn-1].disturbed
	}
	return k.w.lax || k.w.disturbed > k.startedAt || k.hadLost || k.kind&side.WaitForReady == 0 && !k.hadConn
}

// judge says whether the end of a call is one that it may have. lacks says that metadata of the handler's lacks.
func (k *call) judge(code codes.Code, text string, lacks bool) {
	w := k.w
	w.reach(Statuses + Point(code))
	answered := k.returned && code == k.code && (code == codes.OK || text == asOrdered)
	whole := !lacks && (!k.streaming() || k.received == k.sentDown)
	switch {
	case answered && whole:
	case code == codes.OK && k.published() && k.streaming() && w.disturbed > k.startedAt:
		// It sends the messages once more on another connection, and takes the end of the stream that
		// it meets there for the end of the replies: neither these nor the status count.
		w.reach(LostStatuses)
	case answered:
		w.fail("call %d ends with %v and %d messages of %d; metadata lacks: %v", k.n, code, k.received, k.sentDown, lacks)
	case code == codes.Canceled && (k.cancelled || w.closed):
	case code == codes.DeadlineExceeded && k.late():
	case code == codes.Unavailable && k.unavailable():
	default:
		w.fail("call %d ends with %v, %q: cancelled %v, late %v, returned %v with %v, its connection disturbed %v",
			k.n, code, text, k.cancelled, k.late(), k.returned, k.code, k.unavailable())
	}
}

// asOrdered is the message of the statuses that handlers return.
const asOrdered = "as ordered"

// done reports whether both programs of the call are at their end.
func (k *call) done() bool { return k.over && (k.conn == 0 || k.returned) }

// checkQuiet looks for those who wait, when nothing can happen unless the clock moves.
func (k *call) checkQuiet() {
	switch {
	case k.w.failure != nil:
	case k.conn > 0 && !k.returned:
		k.w.fail("the handler of call %d waits: the client's end is over %v, cancelled %v", k.n, k.over, k.cancelled)
	case k.conn > 0 && !k.over:
		k.w.fail("call %d waits, and its handler has returned", k.n)
	case k.cancelled && !k.over:
		k.w.fail("call %d is cancelled, and waits", k.n)
	case k.late() && !k.over:
		k.w.fail("call %d waits past its deadline", k.n)
	case k.conn > 0 && !k.contextEnd:
		k.w.fail("call %d is over, and the context of its handler is not", k.n)
	}
}
