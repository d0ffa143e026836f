// SPDX-License-Identifier: Apache-2.0

package h2

import "sync/atomic"

// lending is what the reader knows about goroutines that might read in its place: see InlineReader. The
// first group belongs to the reader.
type lending struct {
	asked  bool   // since the last batch a goroutine was woken that may come back to wait
	misses uint8  // plus two for each time that lending was useless, minus one for each time that it was useful; bounded
	pause  uint16 // how many more times the role is not lent

	cut atomic.Bool // InlineReader.Wake has interrupted the wait
}

// maxMisses bounds how long the role is not lent: for 2^maxMisses batches.
const maxMisses = 10

// missed records that lending was useless: input came before any goroutine took the role, or the frame
// that came was not for an inline reader.
func (l *lending) missed() {
	l.misses = min(l.misses+2, maxMisses)
	l.pause = 1 << l.misses
}

// served records that the lent role was taken, and that this was useful.
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

// reset clears everything, because the connection is about to be parked for good.
func (l *lending) reset() { l.asked, l.misses, l.pause = false, 0, 0 }
