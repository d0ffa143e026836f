// SPDX-License-Identifier: Apache-2.0

package protocol

import "bytes"

const (
	memoSlots   = 8
	memoMaxSize = 512     // of a block in bytes
	memoMaxHeld = 2 << 10 // bytes of memory of what is made of the block: one byte of a block can stand for thousands
)

// memos remembers the last few field blocks that did not change the HPACK table, and what the role made
// of them: calls of one method have the same blocks again and again. The reader owns it.
//
// When the connection is parked its memos stay in the Intake, for the next connection that uses that
// Intake. They apply if the next connection has the same Config, its table has the same entries, and a
// block is the same. As a rule that is so for all connections of one program.
type memos struct {
	slot [memoSlots]memoSlot
	next int     // the slot that claim uses next
	of   *Config // the Config of the connections that the memos are for
}

type memoSlot struct {
	block  []byte
	gen    uint64 // generation of the HPACK table that the block was decoded with
	memo   any
	shared *Shared // memory of memo; nil: memo was made for another connection
	note   uint32
}

func (m *memos) find(block []byte, gen uint64) *memoSlot {
	for i := range m.slot {
		s := &m.slot[i]
		if s.gen == gen && s.memo != nil && bytes.Equal(s.block, block) {
			return s
		}
	}
	return nil
}

// claim returns a slot for block, the oldest one, and the memory of the memo that was there before.
func (m *memos) claim(block []byte, gen uint64) (s *memoSlot, lost *Shared) {
	s = &m.slot[m.next]
	m.next = (m.next + 1) % memoSlots
	s.block = append(s.block[:0], block...)
	s.gen = gen
	lost = s.shared
	s.memo, s.shared, s.note = nil, nil, 0
	return s, lost
}

// alike returns a memo for which same returns true, of a block that was decoded with the table of
// generation gen; nil if there is none. Memos that were made for other connections are left out.
func (m *memos) alike(gen uint64, same func(memo any) bool) any {
	for i := range m.slot {
		if s := &m.slot[i]; s.shared != nil && s.gen == gen && s.memo != nil && same(s.memo) {
			return s.memo
		}
	}
	return nil
}

// part prepares the memos for another connection. It drops those that keep much memory alive.
func (m *memos) part() {
	for i := range m.slot {
		s := &m.slot[i]
		if s.shared != nil && s.shared.whole() > memoMaxHeld {
			s.memo = nil
		}
		s.shared = nil
	}
}

// serve is called for each connection that gets the memos. It drops them all if the connection has
// another Config, and so perhaps another role.
func (m *memos) serve(cfg *Config) {
	if m.of == cfg {
		return
	}
	m.of = cfg
	for i := range m.slot {
		s := &m.slot[i]
		*s = memoSlot{block: s.block[:0]}
	}
}
