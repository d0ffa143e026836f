// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import "time"

// The kernel wakes a writer that has filled a socket's buffer for sending when a third of that is free.
// So on a far path whose bandwidth-delay product is more than two thirds of the buffer (4 MiB at most, by
// default), not more than those two thirds are on their way in a round trip, and a stream has two
// thirds of the rate that the buffer allows for. There the writer does not wait to be woken: it
// tries again after a small part of a round trip, and so keeps the buffer full.
const (
	// farTrip is the round trip from which a path is far. On a shorter one the kernel's own wake-ups
	// lose nothing that can be noticed.
	farTrip = 10 * time.Millisecond
	// tripParts is how many times in a round trip the buffer is refilled, at least every maxPause.
	tripParts = 32
	maxPause  = 10 * time.Millisecond
	// leastRefill is the least that makes a refill worth having tried, in bytes; after maxSmall in a row that
	// were smaller the kernel wakes the writer. So what a peer reads in small pieces, or not at all,
	// costs no more than otherwise.
	leastRefill = 32 << 10
	maxSmall    = 4
)

// farTripFor is farTripOf. Tests have another one.
var farTripFor = farTripOf

// refill is a write that waits for room, while it refills the socket's buffer. The zero value is one
// that begins.
type refill struct{ small int } // how many in a row were smaller than leastRefill

// wants reports whether the write is to come back when the socket takes no more, in place of waiting.
func (r *refill) wants() bool { return r.small < maxSmall }

// pause follows an attempt that wrote n bytes to a full socket, whose path has such a round trip. It waits until
// the next attempt is due.
func (r *refill) pause(n int, trip time.Duration) {
	if r.small++; n >= leastRefill {
		r.small = 0
	}
	time.Sleep(min(trip/tripParts, maxPause))
}
