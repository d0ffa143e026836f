// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import "time"

// The kernel wakes a writer that has filled a socket's send buffer when a third of the buffer is free. So
// on a far path whose bandwidth-delay product is more than two thirds of the buffer (4 MiB at most, by
// default), at most those two thirds are on their way in a round trip, and a stream gets only two thirds of
// the rate that the buffer allows. There the writer does not wait to be woken: it tries again after a small
// part of a round trip, and so keeps the buffer full.
const (
	// farTrip is the round trip from which a path is far. On a shorter one the kernel's own wake-ups
	// lose nothing that can be noticed.
	farTrip = 10 * time.Millisecond
	// tripParts is how many times in a round trip the writer refills the buffer. It waits at most maxPause.
	tripParts = 32
	maxPause  = 10 * time.Millisecond
	// leastRefill is how many bytes a refill has to write to be worth while. After maxSmall smaller ones in
	// a row the writer waits until the kernel wakes it. So a peer that reads in small pieces, or not at
	// all, costs no more than it would without refills.
	leastRefill = 32 << 10
	maxSmall    = 4
)

// farTripFor is farTripOf. Tests replace it.
var farTripFor = farTripOf

// refill is the state of a write that refills the socket's buffer while it waits for room. The zero value
// is for a write that begins.
type refill struct{ small int } // how many in a row were smaller than leastRefill

// wants reports whether the write should return, in place of waiting, when the socket takes no more.
func (r *refill) wants() bool { return r.small < maxSmall }

// pause is called after an attempt that wrote n bytes and filled the socket. trip is the round trip of the
// path. pause waits until the next attempt is due.
func (r *refill) pause(n int, trip time.Duration) {
	if r.small++; n >= leastRefill {
		r.small = 0
	}
	time.Sleep(min(trip/tripParts, maxPause))
}
