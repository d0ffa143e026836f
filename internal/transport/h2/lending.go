// SPDX-License-Identifier: Apache-2.0

package h2

import "sync/atomic"

// lending is what a reader knows of those who might read in its place: see InlineReader. The first group is
// the reader's.
type lending struct {
	asked  bool   // since the last batch somebody was woken who may come back to wait
	misses uint8  // up to a bound: two for each time that lending was of no use, less one for each time that it was
	pause  uint16 // how many times nothing is lent

	cut atomic.Bool // InlineReader.Wake has interrupted the wait
}

// maxMisses bounds how long nothing is lent: for 2^maxMisses batches.
const maxMisses = 10

// missed records that lending was of no use: there was input before anyone came to wait, or what came was
// not for an inline reader.
func (l *lending) missed() {
	l.misses = min(l.misses+2, maxMisses)
	l.pause = 1 << l.misses
}

// served records that the lent role was taken, and of use.
func (l *lending) served() { l.misses = max(l.misses, 1) - 1 }

// wanted reports whether to lend the role, and clears asked.
func (l *lending) wanted() bool {
	if !l.asked {
		return false
	}
	l.asked = false
	if l.pause > 0 {
		l.pause--
		return false
	}
	return true
}

// reset clears everything: the connection is about to be parked for good.
func (l *lending) reset() { l.asked, l.misses, l.pause = false, 0, 0 }
