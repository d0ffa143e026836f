// SPDX-License-Identifier: Apache-2.0

package h2

import "sync/atomic"

// marks is the part of a connection's state that changes without its lock: the reader's role, in the
// low bits, and whether the write token is offered. It is one word to save memory, as each connection
// has it for its whole life.
type marks struct{ word atomic.Uint32 }

const (
	roleMask   = 1<<4 - 1
	tokenLoose = 1 << 4
)

func (m *marks) role() role { return role(m.word.Load() & roleMask) }

// move changes the role by the event ev, and returns what it was.
func (m *marks) move(ev roleEvent) (from role) {
	for {
		word := m.word.Load()
		from = role(word & roleMask)
		to := from.on(ev)
		if to == from || m.word.CompareAndSwap(word, word&^roleMask|uint32(to)) {
			return from
		}
	}
}

// The holder of the write token can give it back without the lock, if nothing else is to do. When it
// takes the last parcel it makes the token loose. When it has written that parcel it gives the token back,
// and the token is free. Any goroutine that locks Conn.mu meanwhile makes the token fast again, since it may
// queue something. Then the holder has to lock Conn.mu and check whether there is more to write.

// loosen makes the token loose. The holder calls it, with mu held.
func (m *marks) loosen() { m.word.Or(tokenLoose) }

// giveBack gives the token back. The holder calls it, without mu. It returns false if the token is
// fast again: the holder still has the token.
func (m *marks) giveBack() bool { return m.word.And(^uint32(tokenLoose))&tokenLoose != 0 }

// fasten ends the time in which the token is loose. A goroutine that has just locked mu calls it. It returns true if it came
// too late: the holder has given the token back.
func (m *marks) fasten() (givenBack bool) {
	return m.word.And(^uint32(tokenLoose))&tokenLoose == 0
}
