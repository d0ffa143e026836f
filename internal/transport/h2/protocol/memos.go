// SPDX-License-Identifier: Apache-2.0

package protocol

import "bytes"

const (
	memoSlots   = 8
	memoMaxSize = 512     // of a block in bytes
	memoMaxHeld = 2 << 10 // of what is made of it: a byte of a block can stand for thousands
)

// memos remembers the last few field blocks that changed nothing in the HPACK
// table, and what the role made of them: calls of one method look the same
// again and again. Owned by the reader.
//
// When the connection is parked they stay where they are, for the next one of the same role whose
// table has the same entries and that has the same block: as a rule all those of one program.
type memos struct {
	slot [memoSlots]memoSlot
	next int     // the slot that is claimed next
	of   *Config // of the connections that they are for
}

type memoSlot struct {
	block  []byte
	gen    uint64 // of the HPACK table the block was read with
	memo   any
	shared *Shared // what memo takes; nil: it was made for another connection
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

// claim returns a slot for block, the oldest one, and what the memo took that was there.
func (m *memos) claim(block []byte, gen uint64) (s *memoSlot, lost *Shared) {
	s = &m.slot[m.next]
	m.next = (m.next + 1) % memoSlots
	s.block = append(s.block[:0], block...)
	s.gen = gen
	lost = s.shared
	s.memo, s.shared, s.note = nil, nil, 0
	return s, lost
}

// alike returns a memo that same knows, of a block that was read with the table of gen; nil if
// there is none. Those for other connections are left out.
func (m *memos) alike(gen uint64, same func(memo any) bool) any {
	for i := range m.slot {
		if s := &m.slot[i]; s.shared != nil && s.gen == gen && s.memo != nil && same(s.memo) {
			return s.memo
		}
	}
	return nil
}

// part leaves them to another connection, but for those that keep much alive.
func (m *memos) part() {
	for i := range m.slot {
		s := &m.slot[i]
		if s.shared != nil && s.shared.whole() > memoMaxHeld {
			s.memo = nil
		}
		s.shared = nil
	}
}

// serve is called for each connection that the memos come to. What they have is for those with the
// same Config, and so the same role, only.
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
