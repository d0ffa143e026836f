// SPDX-License-Identifier: Apache-2.0

package h2

// habit decides, by how a connection's input has come so far, whether its reader waits for
// more before it parks. It does so as long as more came each time. After a wait in vain it
// parks as soon as it has dealt with the input, three times, and then waits again; after each
// further wait in vain, about twice as many times. A new connection is doubted, too, until more
// has come some times: where thousands are opened, to be idle, few of them are to wait at a time,
// with a goroutine and what reading needs. Pure.
//
// The low bits are how many times it is still to park without waiting, the high bits how
// many waits in a row were in vain, up to a bound. From stranger on they are how many times more
// has come on a new connection.
type habit uint8

const (
	habitBits = 5
	atOnce    = 1<<habitBits - 1

	stranger habit = 1<<8 - 1<<habitBits
	// acquainted is how many times more, soon, has come on a connection that is not new any more.
	// What belongs to opening one, and a call, are fewer.
	acquainted = 4
)

// isNew reports whether the connection is new.
func (h habit) isNew() bool { return h >= stranger }

// isSeldom reports whether to park without waiting.
func (h habit) isSeldom() bool { return h&atOnce > 0 && !h.isNew() }

// spare notes that the reader did not wait, because isSeldom said so.
func (h *habit) spare() { *h-- }

// vain notes that the reader waited and no input came.
func (h *habit) vain() {
	if h.isNew() {
		*h = 0
	}
	waits := min(*h>>habitBits+1, habitBits-1)
	*h = waits<<habitBits | (2<<waits - 1)
}

// doubts reports whether the last wait was in vain, or the connection is new.
func (h habit) doubts() bool { return h > 0 }

// more notes that the reader waited, or would have had to wait for a moment, and input came. It
// reports whether that has ended a doubt.
func (h *habit) more() bool {
	was := *h
	if *h++; !was.isNew() || *h == stranger+acquainted {
		*h = 0
	}
	return was.doubts() && !h.doubts()
}
