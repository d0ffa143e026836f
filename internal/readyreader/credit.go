// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"math"
	"time"

	"google.golang.org/grpc/internal/clock"
)

// A wait on credit begins without a look at the account, which costs as much as four empty
// calls of the system: see wrapped. Credit is for a wrapper with which many waits began, one
// soon after the other, and the account was even each time. Such a wait asks whether the socket
// has input, or its end, and takes for granted that the wrapper holds nothing.
//
// Two things watch over it. What the socket has is asked before each Read, as a wake-up may be
// for what was read already. If the Read has returned another number of bytes, or all that it had
// room for, the wait that follows it is not on credit. So the wrapper can keep, unseen, only what
// arrives between the question and the Read. And while
// there is credit a timer ticks. When waits no longer come thick it ends the credit, and looks
// at the account of the wait that is under way (see audit): if the wrapper does hold something,
// the reader is taken out of that wait to read it, one or two ticks late, and there is no credit
// any more. Nor is there any when a connection parks: that is always preceded by a look at the
// account.
//
// Where input comes alone, once for each wait, as the answers do that a single caller gets, the
// question costs him more than it does others, and tells less. A wake-up is for what was read
// already only if more came while the reader was about to read: one in 5,000 to 100,000 where there
// are four callers or more, and none was seen in 600,000 where there is one. So it is not asked after
// many waits in a row that all began before there was input, and only the timer watches. If such
// a wake-up is in vain after all, the Read waits, with the buffer that it has, until there is more; and
// where the wrapper is being tested the next one may, too, as that Read has ended the test.

const (
	creditAfter = 32 // waits in a row that begin with an even account earn credit
	creditWaits = 8  // in each tick keep it, and have to come so thick to earn it
	loneWaits   = 64 // in a row, on credit or not, that began before there was input: it comes alone
)

// credit is what a wrapper has.
type credit struct {
	tick         *time.Timer
	waits        int32 // since the last tick
	given, spent bool  // spent is for good
	doubted      bool  // the reader is to be taken out of its wait
}

// end takes the credit back.
func (c *credit) end() {
	if c.tick != nil {
		c.tick.Stop()
	}
	c.given, c.tick = false, nil
}

// course is how the reader gets on with the wrapper.
type course struct {
	had   uint64 // what the socket has, for the Read that comes; 0: not known
	lone  uint8  // waits in a row that began before there was input, and ended with some; at most loneWaits
	since int64  // when the first of evens was, by the clock
	evens uint8  // waits in a row that began with an even account
	clean bool   // the last Read returned what the socket had
	woken bool   // the wait has begun: who is asked again was woken
	brief bool   // it is on credit
}

// earns notes that a wait has begun with an even account, and reports whether that earns credit.
func (c *course) earns(tick time.Duration) bool {
	if c.evens++; c.evens == 1 {
		c.since = clock.Now()
	}
	if c.evens < creditAfter {
		return false
	}
	c.evens = 0
	return clock.Now()-c.since < int64(tick)*creditAfter/creditWaits
}

// whatever is what the socket has where that was not asked.
const whatever = math.MaxUint64

// isLone reports whether the wake-up of a wait on credit is for input, as far as one can know
// without looking. It is asked once a wait.
func (c *course) isLone() bool {
	if c.lone < loneWaits {
		c.lone++
		return false
	}
	return c.brief
}

// read notes that a Read returned n bytes, where there was room for so many.
func (c *course) read(n, room int) {
	c.clean = n < room && (uint64(n) == c.had && n > 0 || c.had == whatever)
	c.had = 0
}
