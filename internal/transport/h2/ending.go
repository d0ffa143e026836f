// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// ending is what only a connection needs that is about to end, or has ended.
// Guarded by Conn.mu.
type ending struct {
	cause        error         // of a dead one
	writeErr     error         // why, if a write failed
	flushDone    chan struct{} // closed when all is written or can't be
	reason       drainReason   // what Drain was given
	lastAccepted uint32        // the last stream that the peer's GOAWAY named
	lastSaid     uint32        // the last stream that our farewell named
	goAwayCause  *ConnError    // what the peer's GOAWAY complained of, if it did
	patience     *time.Timer   // closes a connection that takes too long to end
	readBy       time.Time     // bounds the reader's wait for input; zero: nothing does
}

// drainReason is what both GOAWAYs of a drain say.
type drainReason struct {
	code  frame.ErrCode
	debug string
}

// Times of the end.
const (
	// lastFlush bounds how long the last words of a connection may take: GOAWAY on
	// the way out, the peer's reason on the way in.
	lastFlush = time.Second

	// partingPatience is how many times lastFlush a client may take to hang up while
	// it goes on sending: it is then still busy with what we sent.
	partingPatience = 10

	// drainPatience is how long the PING between the two steps of a drain may take, and
	// drainGrace how long after its answer a stream may still come: some clients say first
	// that they have seen the PING, and then what they had to say when they saw it.
	drainPatience = 5 * time.Second
	drainGrace    = 5 * time.Millisecond
)

// signalFlush tells whoever waits for it that all is written, or never will be.
func (e *ending) signalFlush() {
	if e != nil && e.flushDone != nil {
		close(e.flushDone)
		e.flushDone = nil
	}
}

// stopPatience is for a connection that has ended.
func (e *ending) stopPatience() {
	if e != nil && e.patience != nil {
		e.patience.Stop()
	}
}
