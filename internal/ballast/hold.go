// SPDX-License-Identifier: Apache-2.0

package ballast

import "strings"

// block is how much ballast is added and taken at a time.
const block = 1 << 20

// hold has blocks that nobody touches. They are the memory of Builders, which the runtime does not clear:
// clearing would make the system find pages for it.
type hold []*strings.Builder

func (h hold) bytes() uint64 { return uint64(len(h)) * block }

// fill makes h hold so many bytes, rounded down to whole blocks.
func (h *hold) fill(bytes uint64) {
	n := int(bytes / block)
	for len(*h) < n {
		b := new(strings.Builder)
		b.Grow(block)
		*h = append(*h, b)
	}
	if n < len(*h) {
		*h = append(hold(nil), (*h)[:n]...)
	}
}
