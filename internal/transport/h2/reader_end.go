// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"time"

	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// stop ends the reader, and the connection. If the peer has broken a rule, stop tells it so. Then it
// tells the Handler and all streams that the connection has ended.
func (r *reader) stop(err error) {
	var ce *protocol.ConnError
	if !errors.As(err, &ce) || ce.Remote {
		r.end(err, false)
		return
	}
	left := true
	defer func() {
		if left { // see errWriterLeft
			go r.end(err, false)
		}
	}()
	said := r.sayGoAway(ce)
	left = false
	r.end(err, said)
}

// end ends the connection, and tells the Handler and all streams. said says that the peer was told why.
func (r *reader) end(err error, said bool) {
	was := (*Conn)(r).kill(err, true)
	defer r.leave() // also if a stats handler ends the goroutine
	(*Conn)(r).tellAll()
	if said && was != protocol.Dead {
		r.discardInput()
	}
}

// leave closes the socket, and gives back what the reader holds.
func (r *reader) leave() {
	r.handle.Close()
	defer func() { // also if a program's Close ends the goroutine
		c := r.lock()
		c.core.DropOutput() // what was queued meanwhile
		c.core.DropCoder()
		c.unlock()
		r.in.release(r.core.Side(), r.core.Config())
	}()
	(*Conn)(r).closeWire()
}

// sayGoAway tells the peer which rule it broke, and waits until the system has taken that frame. It
// reports whether the system has taken it.
func (r *reader) sayGoAway(ce *protocol.ConnError) bool {
	r.wire.Conn.SetWriteDeadline(time.Now().Add(lastFlush)) // without the lock: it may be code of the program
	c := r.lock()
	c.core.SetReader(protocol.ReaderWaits) // no batch ends any more
	done := make(gate)
	if !c.core.SayGoAway(ce, done) {
		c.unlock()
		return false
	}
	c.unlockAndFlush()
	late := time.NewTimer(2 * lastFlush) // in case deadlines have no effect
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

// discardInput reads what the peer still sends, for a while: closing a socket
// with unread input makes the system discard what we sent last.
func (r *reader) discardInput() {
	late := time.AfterFunc(lastFlush/2, (*Conn)(r).closeWire) // in case deadlines have no effect
	defer late.Stop()
	if !r.wire.closeWrite() {
		return
	}
	c := r.lock()
	c.lastReadUntil(time.Now().Add(lastFlush / 4))
	c.unlock()
	rd := r.in.act.rd
	for left := 1 << 20; left > 0; {
		if _, err := rd.Peek(1); err != nil && !r.wasQuiet(err) {
			return
		}
		n := rd.Buffered()
		left -= n
		rd.Discard(n)
	}
}
