// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
)

// Operations that tell how something went over time.
const (
	OpFlow  = "flow"  // Flow, Flowed: a client's load, as it went over time
	OpTrack = "track" // Track, Tracked: what a server was sent, over time
)

// Flow is a load over one connection, or without gRPC over as many as there are callers. Kinds
// are Pull, Push and Unary; without gRPC they mean the same bytes.
type Flow struct {
	Kind string
	Size int // of a message or a reply; a request of Unary has 128 bytes
	// For is how long it lasts. Unary with Calls makes so many one after the other instead,
	// with a Pause before each but the first.
	For     time.Duration
	Calls   int
	Pause   time.Duration
	Callers int // of Unary with For
	// Beside, when it is not 0, is how large the messages are that the server sends
	// meanwhile on a stream of the first connection. They are what Points count.
	Beside int
}

// Point says how many messages had come at a moment.
type Point struct {
	At    int64 // nanoseconds since 1970: client and server are on one machine
	Count uint64
}

// Flowed is how a Flow went.
type Flowed struct {
	Start   int64           // as in Point
	Points  []Point         // of Pull, and Beside
	Took    []time.Duration // each of Calls
	Latency hist.Summary    // of Unary with For
	Lasted  time.Duration
}

// Track watches for a time how many messages the server has been sent.
type Track struct{ For time.Duration }

// Tracked is what came of Track.
type Tracked struct{ Points []Point }
