// SPDX-License-Identifier: Apache-2.0

package h2

// habit is how a connection's input has come so far, from which its reader learns whether
// to linger. It waits for more in a read as long as more came each time. After a wait in
// vain it parks without one as soon as it has dealt with what there is, three times;
// after each further such wait about twice as often, and then tries again. Pure.
//
// In the low bits it is how often to park without a wait, above that how many waits in a
// row were in vain, as far as they count.
type habit uint8

const (
	habitBits = 5
	atOnce    = 1<<habitBits - 1
)

// isSeldom reports whether not to wait.
func (h habit) isSeldom() bool { return h&atOnce > 0 }

// spare notes that the reader did not wait, as isSeldom says.
func (h *habit) spare() { *h-- }

// vain notes a wait for more in vain.
func (h *habit) vain() {
	waits := min(*h>>habitBits+1, habitBits-1)
	*h = waits<<habitBits | (2<<waits - 1)
}

// more notes a wait that was not.
func (h *habit) more() { *h = 0 }
