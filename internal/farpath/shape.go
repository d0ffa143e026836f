// SPDX-License-Identifier: Apache-2.0

package farpath

import "time"

// Shape says what a path does to packets, the same in both directions. The zero Shape
// carries everything at once.
type Shape struct {
	// RoundTrip is how long there and back takes on a path without a queue: packets are held
	// for half of it in each direction.
	RoundTrip time.Duration
	// Rate is how many bytes a second there is room for in each direction, with the headers
	// of IP and TCP; 0 is no limit.
	Rate float64
	// Queue is how many bytes may wait for their turn in each direction; what comes when it is
	// full is dropped. 0 is what the path holds in a round trip, and at least MinQueue.
	// Without a Rate nothing waits.
	Queue int
	// Loss is the share of segments that are lost, each by itself.
	Loss float64
	// Reorder is the share of packets that are held for ReorderBy longer, so that others
	// overtake them.
	Reorder   float64
	ReorderBy time.Duration
	// Seed makes another choice of what is lost and reordered.
	Seed uint64
}

// MinQueue is the least that a queue holds if Shape does not say: one large packet of TCP's.
const MinQueue = 64 << 10

// queue is how many bytes may wait.
func (s Shape) queue() int {
	if s.Queue > 0 {
		return s.Queue
	}
	return max(int(s.Rate*s.RoundTrip.Seconds()), MinQueue)
}

// Counts are what one direction has carried so far.
type Counts struct {
	Packets, Bytes uint64 // that were delivered; a large packet is one
	Lost           uint64 // segments, by Loss
	Full           uint64 // segments for which the queue had no room
	Down           uint64 // packets that were sent, or due, while the link was down
	Refused        uint64 // packets that the device did not take
}
