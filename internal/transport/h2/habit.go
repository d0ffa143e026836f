// SPDX-License-Identifier: Apache-2.0

package h2

import "time"

// habit decides, by how a connection's input has come so far, whether its reader waits for
// more before it parks. It does so as long as more came each time. After a wait in vain it
// parks as soon as it has dealt with the input, three times, and then waits again; after each
// further wait in vain, about twice as many times. A new connection is doubted, too, until more
// has come some times: where thousands are opened, to be idle, few of them are to wait at a time,
// with a goroutine and what reading needs. Pure.
//
// The low bits are how many times it is still to park without waiting, the high bits how
// many waits in a row were in vain, up to a bound. From stranger on they are how many times more
// has come on a new connection. What lies between is for wary ones.
type habit uint8

const (
	habitBits = 5
	atOnce    = 1<<habitBits - 1

	stranger habit = 1<<8 - 1<<habitBits
	// acquainted is how many times more, soon, has come on a connection that is not new any more.
	// What belongs to opening one, and a call, are fewer.
	acquainted = 4
)

// A connection that is read through a wrapper is wary: nobody interrupts who waits in the Read of a
// wrapper, so where input comes seldom nobody is to wait there. Where it comes thick a wait there
// costs less than to park. The habit is how many times in a row more came soon, up to busy.
const (
	wary habit = habitBits << habitBits
	busy       = wary + 8

	soon = 10 * time.Millisecond
)

// isWary reports whether the connection is read through a wrapper.
func (h habit) isWary() bool { return h >= wary && !h.isNew() }

// came notes that input came, so long after the last, on a wary connection.
func (h *habit) came(after time.Duration) {
	if after > soon {
		*h = wary
		return
	}
	*h = min(*h+1, busy)
}

// same notes that what comes next is there already: it belongs to what came last.
func (h *habit) same() { *h = max(*h-1, wary) }

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
