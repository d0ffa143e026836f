// SPDX-License-Identifier: Apache-2.0

package park

func tokenOf(slot, gen uint32) uint64 { return uint64(slot)<<32 | uint64(gen) }

func splitToken(token uint64) (slot, gen uint32) { return uint32(token >> 32), uint32(token) }

// add gives h a slot, and the generation to count on from.
func (t *table) add(h *Handle) (index, gen uint32) {
	t.used++
	if t.free == 0 {
		if t.n%uint32(len(chunk{})) == 0 {
			t.grow()
		}
		t.n++
		t.at(t.n).h.Store(h)
		return t.n, 0
	}
	index = t.free
	s := t.at(index)
	t.free, s.next = s.next, 0
	s.h.Store(h)
	return index, s.gen
}

func (t *table) grow() {
	var chunks []*chunk
	if old := t.chunks.Load(); old != nil {
		chunks = *old
	}
	chunks = append(chunks[:len(chunks):len(chunks)], new(chunk))
	t.chunks.Store(&chunks)
}

// at returns a slot that exists.
func (t *table) at(index uint32) *slot {
	i := (index - 1) / uint32(len(chunk{}))
	return &(*t.chunks.Load())[i][(index-1)%uint32(len(chunk{}))]
}

// remove frees a slot whose holder counted to gen.
func (t *table) remove(index, gen uint32) {
	t.used--
	s := t.at(index)
	s.h.Store(nil)
	s.gen, s.next = gen, t.free
	t.free = index
}

// get returns the holder of a slot, or nil. Any goroutine may call it; the holder may have left the slot
// meanwhile.
func (t *table) get(index uint32) *Handle {
	chunks := t.chunks.Load()
	if index == 0 || chunks == nil || int64(index) > int64(len(*chunks)*len(chunk{})) {
		return nil
	}
	return t.at(index).h.Load()
}
