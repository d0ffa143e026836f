// SPDX-License-Identifier: Apache-2.0

package crossing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/attack/internal/process"
	"google.golang.org/grpc/attack/internal/side"
	"google.golang.org/grpc/codes"
)

// world is a history.
type world struct {
	rng      *rand.Rand
	parties  [2]*party
	chaos    chaos
	settings int
	lax      bool // calls without a connection may always fail
	now      time.Duration
	log      []entry

	conns []*conn
	calls []*call
	serve bool // the server takes connections
	stops int  // Stop and Drain that have not returned

	faults    int  // how many are left
	settling  bool // there are no more
	closed    bool // the channel
	disturbed int  // how many things have happened for which calls without a connection may fail
	steps     int
	failure   error
	counts    *[Points]int
}

func (w *world) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
	}
}

func (w *world) has(c chaos) bool { return w.chaos&c != 0 }

// pick returns a number below n.
func (w *world) pick(n int) int { return w.rng.IntN(n) }

// rarely is true once in n times.
func (w *world) rarely(n int) bool { return w.rng.IntN(n) == 0 }

func (w *world) reach(p Point) { w.counts[p]++ }

func (w *world) order(r side.Role, m side.Message) { w.parties[r].order(w.now, m) }

// run gives a side its orders, and hears what comes of them.
func (w *world) run(r side.Role) {
	if w.failure != nil {
		return
	}
	w.order(r, side.Message{Op: side.Wait})
	w.flush(r)
}

func (w *world) flush(r side.Role) {
	err := w.parties[r].flush(func(m side.Message) {
		w.log = append(w.log, entry{w.parties[r].name, w.now, m})
		w.hear(r, m)
	})
	if err != nil {
		w.fail("the %s: %w", w.parties[r].name, err)
	}
	if errors.Is(err, errLocked) {
		w.reach(Locked)
	}
}

// hear takes note of an event.
func (w *world) hear(r side.Role, m side.Message) {
	switch m.Op {
	case side.Dial:
		w.conns = append(w.conns, &conn{id: m.Conn})
	case side.Wrote:
		w.wrote(w.conns[m.Conn-1], r, m.Data)
	case side.Closed:
		w.closes(w.conns[m.Conn-1], r, m.N > 0)
	case side.Stopped:
		w.stops--
	case side.Fault:
		w.fail("%s", m.Data)
	case side.Began, side.Sent, side.Received, side.HalfDone, side.Failed, side.Done, side.Over:
		w.calls[m.Call-1].hear(r, m)
	}
}

// chaos is which features and faults a history has.
type chaos uint32

const (
	stalls chaos = 1 << iota
	cuts
	refuses
	cancels
	deadlines
	passes
	stops
	drains
	resetsLose // a close with unread input takes what is on its way
	manyCalls
	unaries
	bulk
	compresses
	windows // messages fill static windows
	earlyReturns
	lazyReads
	wholes // bytes arrive as they were written
	bursts // several things happen at once
	chaosEnd
)

// step has one thing happen, or several for a side at once, and reports whether there was any.
func (w *world) step() bool {
	o := w.options()
	if len(o) == 0 {
		return false
	}
	w.steps++
	r := o[w.pick(len(o))].do()
	for w.has(bursts) && w.rarely(2) {
		var same []option
		for _, o := range w.options() {
			if o.who == r {
				same = append(same, o)
			}
		}
		if len(same) == 0 {
			break
		}
		same[w.pick(len(same))].do()
	}
	w.run(r)
	return w.failure == nil
}

// option is something that may happen now. It says for whom.
type option struct {
	who side.Role
	f   func()
}

func (o option) do() side.Role {
	o.f()
	return o.who
}

// options are the regular ones.
func (w *world) options() (list []option) {
	for _, c := range w.conns {
		if !c.up && !c.over {
			list = append(list, option{side.Client, func() { w.answerDial(c) }})
			continue
		}
		for r := range c.ends {
			e := &c.ends[r]
			if e.closed || e.stalled || e.broken {
				continue
			}
			if len(e.flight) > 0 || e.reset || e.eof && !e.ended {
				list = append(list, option{r, func() { w.arrive(c, r) }})
			}
		}
	}
	for _, k := range w.calls {
		list = k.options(list)
	}
	return list
}

// pass has time pass.
func (w *world) pass(d time.Duration) {
	w.now += d
	if w.settings&(side.Keepalive|side.Ages) != 0 { // a PING may be sent, and time out, while nothing arrives
		for _, c := range w.conns {
			if c.up {
				w.disturb(c)
			}
		}
	}
	first := w.pick(2)
	for _, r := range []side.Role{first, 1 - first} {
		w.order(r, side.Message{Op: side.Sleep, D: d})
		w.run(r)
	}
}

var errNoEnd = errors.New("there is no end")

// regular has things happen until nothing is left to do without the clock.
func (w *world) regular() {
	for w.failure == nil {
		if w.steps > 20000 {
			w.failure = errNoEnd
		}
		if w.faults > 0 && w.rarely(10) {
			w.faults--
			w.fault()
			continue
		}
		if !w.step() {
			w.run(side.Client) // the room that it was given
			w.run(side.Server)
			if len(w.options()) > 0 {
				continue
			}
			if w.faults == 0 {
				return
			}
			w.faults--
			w.fault()
		}
	}
}

// play has the whole history happen.
func (w *world) play() {
	w.begin()
	w.regular()
	w.settle()
	w.end()
}

func (w *world) begin() {
	settings := 0
	for s := side.SmallWindows; s < side.EndOfSettings; s <<= 1 {
		if w.rarely(4) {
			settings |= s
		}
	}
	for c := chaos(1); c < chaosEnd; c <<= 1 {
		if !w.rarely(3) {
			w.chaos |= c
		}
	}
	if settings&side.FewStreams != 0 && w.parties[side.Server].impl == process.Published {
		// Its reader waits there with a lock for one of its handlers to return, while streams of its are cancelled and
		// others come. Who sends a GOAWAY, and all else that the connection has to write, waits for this lock.
		settings &^= side.Ages
		w.chaos &^= drains
	}
	if settings&side.Ages != 0 {
		w.chaos |= passes
	}
	if !w.rarely(6) { // what these take is longer than the rest of a history
		settings &^= side.Secure
	}
	if !w.rarely(6) {
		w.chaos &^= compresses
	}
	if w.rarely(10) { // many bytes take long, too
		settings = settings&^side.SmallRoom | side.SmallWindows
	} else {
		w.chaos &^= windows
	}
	w.settings = settings
	w.order(side.Client, side.Message{Op: side.Begin, N: side.Client, M: settings, D: time.Duration(w.rng.Uint32())})
	w.order(side.Server, side.Message{Op: side.Begin, N: side.Server, M: settings, D: time.Duration(w.rng.Uint32())})
	w.serve = true
	n := 1 + w.pick(3)
	if w.has(manyCalls) {
		n += 4
	}
	for i := range n {
		w.calls = append(w.calls, w.newCall(i+1))
	}
	w.faults = w.pick(8)
	// Servers take leave, or refuse streams while handlers of streams that are over run.
	w.lax = settings&side.Ages != 0 || settings&side.FewStreams != 0 && w.has(cancels|deadlines)
	w.run(side.Client)
	w.run(side.Server)
}

// settle has no more faults, and all programs come to their end.
func (w *world) settle() {
	w.settling, w.faults = true, 0
	w.goOn()
	w.regular()
	if !w.serve && w.stops == 0 && w.failure == nil {
		w.serveAgain()
	}
	w.regular()
	for _, k := range w.calls {
		k.checkQuiet()
	}
	if w.stops > 0 {
		w.fail("a server still waits for the end of its calls, which all have ended")
	}
	for i := 0; i < 60 && !w.allOver(); i++ {
		w.reach(Waits)
		w.pass(5 * time.Second)
		w.regular()
	}
	for _, k := range w.calls {
		if !k.done() {
			w.fail("call %d waits, and nothing can happen: over %v, handler began %v, returned %v", k.n, k.over, k.conn > 0, k.returned)
		}
	}
}

func (w *world) allOver() bool {
	if w.failure != nil {
		return true
	}
	for _, k := range w.calls {
		if !k.done() {
			return false
		}
	}
	return true
}

// end closes the channel and stops the server.
func (w *world) end() {
	w.closed = true
	w.order(side.Client, side.Message{Op: side.Close})
	w.run(side.Client)
	w.regular()
	if w.failure != nil {
		w.explain()
		return
	}
	for i := 0; i < 10 && !w.connsOver(); i++ {
		w.pass(2 * time.Second)
		w.regular()
	}
	if !w.connsOver() {
		w.fail("the channel is closed, and a connection is left")
	}
	if w.failure != nil {
		w.explain()
		return
	}
	for r := range w.parties {
		w.order(r, side.Message{Op: side.End})
		w.flush(r)
	}
}

// explain asks both sides for their goroutines.
func (w *world) explain() {
	if w.failure == nil {
		return
	}
	var stacks error
	for r, p := range w.parties {
		p.orders = (side.Message{Op: side.Stacks}).Append(p.orders)
		p.orders = (side.Message{Op: side.Wait}).Append(p.orders)
		err := p.flush(func(m side.Message) {
			if m.Op == side.Told {
				stacks = errors.Join(stacks, fmt.Errorf("goroutines of the %s:\n%s", w.parties[r].name, m.Data))
			}
		})
		if err != nil {
			return
		}
	}
	w.failure = fmt.Errorf("%w\n%w", w.failure, stacks)
}

// sizes of messages.
func (w *world) size() int {
	switch {
	case w.has(windows) && w.rarely(2):
		return 20000 + w.pick(60000)
	case w.has(bulk) && w.rarely(20):
		return 1000 + w.pick(200000)
	case w.rarely(4):
		return 1000 + w.pick(10000)
	}
	return w.pick(60)
}

// codes that handlers return.
func (w *world) code() codes.Code {
	if w.rarely(4) {
		return []codes.Code{codes.NotFound, codes.Internal, codes.PermissionDenied, codes.ResourceExhausted}[w.pick(4)]
	}
	return codes.OK
}
