// SPDX-License-Identifier: Apache-2.0

package h2

import "sync/atomic"

// marks is the part of a connection's state that changes without its lock: the reader's role, in the low
// bits, and whether the write token is offered, in one word, as each connection has it for good.
type marks struct{ word atomic.Uint32 }

const (
	roleMask     = 1<<4 - 1
	tokenOffered = 1 << 4
)

func (m *marks) role() role { return role(m.word.Load() & roleMask) }

// move changes the role as ev does, and returns what it was.
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

// The write token comes back without the lock where its holder has nothing to do but give it back. When the
// holder takes the last parcel it offers the token. When that is written it accepts its own offer, and
// the token is free. A goroutine that gets Conn.mu meanwhile withdraws the offer, since it may queue something:
// the holder then looks, under the lock, what there is.

// offer is for the holder, with mu.
func (m *marks) offer() { m.word.Or(tokenOffered) }

// giveBack is for the holder, without mu. It reports false if the token is still its own.
func (m *marks) giveBack() bool { return m.word.And(^uint32(tokenOffered))&tokenOffered != 0 }

// withdraw is for a goroutine that has just got mu, after an offer. It reports true if it came too late:
// the token was given back.
func (m *marks) withdraw() (givenBack bool) {
	return m.word.And(^uint32(tokenOffered))&tokenOffered == 0
}
