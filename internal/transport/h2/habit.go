// SPDX-License-Identifier: Apache-2.0

package h2

// habit decides, by how a connection's input has come so far, whether its reader waits for
// more before it parks. It does so as long as more came each time. After a wait in vain it
// parks as soon as it has dealt with the input, three times, and then waits again; after each
// further wait in vain, about twice as many times. Pure.
//
// The low bits are how many times it is still to park without waiting, the high bits how
// many waits in a row were in vain, up to a bound.
type habit uint8

const (
	habitBits = 5
	atOnce    = 1<<habitBits - 1
)

// isSeldom reports whether to park without waiting.
func (h habit) isSeldom() bool { return h&atOnce > 0 }

// spare notes that the reader did not wait, because isSeldom said so.
func (h *habit) spare() { *h-- }

// vain notes that the reader waited and no input came.
func (h *habit) vain() {
	waits := min(*h>>habitBits+1, habitBits-1)
	*h = waits<<habitBits | (2<<waits - 1)
}

// doubts reports whether the last wait was in vain.
func (h habit) doubts() bool { return h > 0 }

// more notes that the reader waited and input came. It reports whether that is news.
func (h *habit) more() bool {
	was := *h
	*h = 0
	return was.doubts()
}
