// SPDX-License-Identifier: Apache-2.0

package h2

// idlePredictor decides, from the input of a connection so far, whether its reader waits for more
// before it parks, or parks at once. The reader waits as long as each wait brings input (a hit). After
// a wait that brought none (a miss) it skips the next three waits, and then waits again. After each
// further miss in a row it skips about twice as many. A new connection counts as doubtful, too, until
// it has had some hits: of thousands that are opened and stay idle, only a few may wait at a time, as
// each of these needs a goroutine and what reading needs. Pure.
//
// The low bits count the waits that are still to be skipped. The high bits count the misses in a row,
// up to a bound. From untried on the value counts the hits of a new connection instead.
type idlePredictor uint8

const (
	skipBits = 5
	skipMask = 1<<skipBits - 1

	untried idlePredictor = 1<<8 - 1<<skipBits
	// hitsOfNew is how many hits end the doubt about a new connection. Opening a connection and making
	// one call gives fewer.
	hitsOfNew = 4
)

// isNew reports whether the connection is new.
func (p idlePredictor) isNew() bool { return p >= untried }

// skips reports whether the reader is to park without waiting.
func (p idlePredictor) skips() bool { return p&skipMask > 0 && !p.isNew() }

// recordSkip records that the reader did not wait, because skips said so.
func (p *idlePredictor) recordSkip() { *p-- }

// recordMiss records that the reader waited and no input came.
func (p *idlePredictor) recordMiss() {
	if p.isNew() {
		*p = 0
	}
	misses := min(*p>>skipBits+1, skipBits-1)
	*p = misses<<skipBits | (2<<misses - 1)
}

// doubts reports whether the last wait was a miss, or the connection is new.
func (p idlePredictor) doubts() bool { return p > 0 }

// recordHit records that input came while the reader waited, or while it would have waited for a
// moment. It reports whether that has ended a doubt.
func (p *idlePredictor) recordHit() bool {
	was := *p
	if *p++; !was.isNew() || *p == untried+hitsOfNew {
		*p = 0
	}
	return was.doubts() && !p.doubts()
}
