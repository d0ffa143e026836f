// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

// Operations of a client whose network goes away for a while.
const (
	OpRoam    = "roam"    // Roam, Nothing: connect, and call once
	OpRecover = "recover" // Recover, Recovered: call until a call succeeds after one has failed
)

// Roam is a client that a resolver of its own tells where its server is.
type Roam struct {
	Target    string // address and port
	Keepalive bool   // a PING after 10 s without input, an answer within 5 s
}

// Recover makes calls, a tenth of a second after each other, each with a deadline of a second.
type Recover struct {
	// Then is the resolver's answer once it changes, after After; empty if it stays.
	Then  string
	After time.Duration
	// Within is when to give up.
	Within time.Duration
}

// Recovered is how that went.
type Recovered struct {
	At      int64 // when the first call succeeded after one had failed, in nanoseconds since 1970; 0: none did
	Failed  int   // calls before that
	Dials   int   // connection attempts since the call of OpRoam
	Lookups int   // how often the resolver was asked to resolve again
}
