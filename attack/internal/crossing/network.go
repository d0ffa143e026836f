// SPDX-License-Identifier: Apache-2.0

package crossing

import (
	"google.golang.org/grpc/attack/internal/side"
)

// conn is a connection, both ends of it.
type conn struct {
	id        int
	up        bool // the server has it
	ready     bool // a call has come over it
	over      bool // refused
	disturbed bool // calls on it may fail
	drained   bool // calls that have no handler on it may fail
	ends      [2]end
}

// end is one of them.
type end struct {
	flight  []byte // what is on its way to it
	eof     bool   // behind that comes the end
	reset   bool   // behind that comes a reset
	ended   bool   // it was told of the end
	broken  bool   // it was told of the reset
	closed  bool   // by this end
	stalled bool
}

func (w *world) wrote(c *conn, from side.Role, data []byte) {
	to := &c.ends[1-from]
	switch {
	case to.reset:
	case to.closed: // TCP answers with a reset
		c.ends[from].reset = true
		w.disturb(c)
	default:
		to.flight = append(to.flight, data...)
	}
}

// disturb takes note of what calls of a connection may fail of. Calls that have none yet may have been on it.
func (w *world) disturb(c *conn) {
	c.disturbed = true
	w.disturbed++
}

// closes takes note that an end closed, and whether it had input that it had not read.
func (w *world) closes(c *conn, by side.Role, unread bool) {
	from, to := &c.ends[by], &c.ends[1-by]
	unread = unread || len(from.flight) > 0
	from.closed, from.flight = true, nil
	w.reach(ConnsEnded)
	if !c.up {
		c.over = true
		return
	}
	if unread && !to.closed {
		w.reach(ClosedUnread)
		to.reset = true
		if w.has(resetsLose) && len(to.flight) > 0 {
			to.flight = nil
		}
		w.disturb(c)
	}
	to.eof = true
}

// answerDial has a connection come up, or not.
func (w *world) answerDial(c *conn) {
	if !w.serve || !w.settling && w.has(refuses) && w.rarely(3) {
		c.over = true
		w.reach(Refusals)
		w.disturbed++
		w.order(side.Client, side.Message{Op: side.Refused, Conn: c.id})
		return
	}
	c.up = true
	w.reach(Conns)
	w.order(side.Client, side.Message{Op: side.Connected, Conn: c.id})
	w.order(side.Server, side.Message{Op: side.Accept, Conn: c.id})
	w.run(side.Server)
}

// arrive has bytes arrive at an end of a connection, or its end.
func (w *world) arrive(c *conn, at side.Role) {
	e := &c.ends[at]
	switch n := len(e.flight); {
	case n > 0:
		if !w.has(wholes) && !w.settling && !w.rarely(3) {
			n -= w.pick(n)
		}
		w.order(at, side.Message{Op: side.Deliver, Conn: c.id, Data: e.flight[:n]})
		e.flight = e.flight[n:]
		w.order(1-at, side.Message{Op: side.Room, Conn: c.id, N: n})
	case e.reset:
		e.broken = true
		w.order(at, side.Message{Op: side.Reset, Conn: c.id})
	default:
		e.ended = true
		w.order(at, side.Message{Op: side.EOF, Conn: c.id})
	}
}

func (w *world) connsOver() bool {
	for _, c := range w.conns {
		if c.up && !(c.ends[0].closed && c.ends[1].closed) {
			return false
		}
	}
	return true
}

// live is a connection that is up, if there is one.
func (w *world) live() *conn {
	var list []*conn
	for _, c := range w.conns {
		if c.up && !(c.ends[0].closed && c.ends[1].closed) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[w.pick(len(list))]
}
