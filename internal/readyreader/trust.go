// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import "time"

// trust is what is known of a wrapper.
type trust uint8

const (
	untested   trust = iota
	alone            // nobody else reads the socket
	trusted          // and nobody else sets its read deadline
	distrusted       // it is waited for in its Read
)

// pace are the times that finding out takes.
type pace struct {
	// patience is how long after a read the wait meets the test's deadline. It is far
	// more than the wrapper takes to return what is there, and less than any idle timeout.
	patience time.Duration
	// renewal is how old a deadline may be that another read begins under.
	renewal time.Duration
	// margin is when before the deadline it is lifted, unless it is the reader who will
	// meet it.
	margin time.Duration
	// slack is how late the deadline may be met. Later it may have been another.
	slack time.Duration
	// overdue is when after the deadline it is certain that it won't be met.
	overdue time.Duration
	// quiet is for how long nothing arrives where somebody else who reads has the lock.
	quiet time.Duration
	// lock is how long that may be held by someone who only reads what is there.
	lock time.Duration
	// tick is how often it is looked whether a wrapper is to keep its credit.
	tick time.Duration
}

var usualPace = pace{
	patience: 1500 * time.Millisecond,
	renewal:  100 * time.Millisecond,
	margin:   900 * time.Millisecond,
	slack:    600 * time.Millisecond,
	overdue:  1300 * time.Millisecond,
	quiet:    40 * time.Millisecond,
	lock:     300 * time.Millisecond,
	tick:     10 * time.Millisecond,
}

// trial is where finding out stands.
type trial struct {
	test  int64         // the deadline that the test has set, by the clock; 0: none
	watch *time.Timer   // runs watchTest
	late  time.Duration // how late it was for what ought to have happened
	trust trust
	looks uint8 // how often it has looked for that
	wiped bool  // a deadline was lifted since the last Read
	blind bool  // the next Read, or this one, is to wait, and is not put to the test
}

// habit is what a wrapper does with the beginning of the stream.
type habit struct {
	taker   bool // it may take bytes, and outlives deadlines: never changed
	learned bool // how many it has taken is known. Owned by the reader.
}
