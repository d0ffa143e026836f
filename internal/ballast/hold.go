// SPDX-License-Identifier: Apache-2.0

package ballast

import "strings"

// block is how much ballast is added and taken at a time.
const block = 1 << 20

// hold has blocks that nobody touches. A Builder's memory is not cleared, which would have the
// system find pages for it.
type hold []*strings.Builder

func (h hold) bytes() uint64 { return uint64(len(h)) * block }

// fill makes it hold so many bytes, less what is left of a block.
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
