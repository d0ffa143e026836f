// SPDX-License-Identifier: Apache-2.0

package park

// table gives each registered handle a number that the kernel can hold, so that
// it holds no Go pointer. Numbers start at 1 and are reused; the generation goes
// on counting where the number's last holder stopped, so that an event for that
// one does not pass for the new holder's.
type table struct {
	slots []slot
	free  uint32 // head of the list of free slots; 0: none
	used  int
}

type slot struct {
	h    *Handle
	gen  uint32
	next uint32 // free slots
}

func tokenOf(slot, gen uint32) uint64 { return uint64(slot)<<32 | uint64(gen) }

func splitToken(token uint64) (slot, gen uint32) { return uint32(token >> 32), uint32(token) }

// add gives h a slot, and the generation to count on from.
func (t *table) add(h *Handle) (index, gen uint32) {
	t.used++
	if t.free == 0 {
		t.slots = append(t.slots, slot{h: h})
		return uint32(len(t.slots)), 0
	}
	index = t.free
	s := &t.slots[index-1]
	t.free, s.h, s.next = s.next, h, 0
	return index, s.gen
}

// remove frees a slot whose holder counted to gen.
func (t *table) remove(index, gen uint32) {
	t.used--
	t.slots[index-1] = slot{gen: gen, next: t.free}
	t.free = index
}

// get returns the holder of a slot, or nil.
func (t *table) get(index uint32) *Handle {
	if index == 0 || int64(index) > int64(len(t.slots)) {
		return nil
	}
	return t.slots[index-1].h
}
