// SPDX-License-Identifier: Apache-2.0

package h2

// idlePredictor decides, by how a connection's input has come so far, whether its reader waits for
// more before it parks, or parks at once. It waits as long as each wait brought input (a hit). After a
// wait that brought none (a miss) it skips the next three waits, and then waits again; after each further
// miss in a row it skips about twice as many. A new connection is in doubt, too, until it has had some hits:
// of thousands that are opened and stay idle only few may wait at a time, each with a goroutine and
// what reading needs. Pure.
//
// The low bits are how many waits are still to be skipped, the high bits how
// many misses there were in a row, up to a bound. From untried on the value counts the hits of
// a new connection.
type idlePredictor uint8

const (
	skipBits = 5
	skipMask = 1<<skipBits - 1

	untried idlePredictor = 1<<8 - 1<<skipBits
	// hitsOfNew is how many hits end the doubt about a new connection. Opening one, and one
	// call, make fewer.
	hitsOfNew = 4
)

// isNew reports whether the connection is new.
func (p idlePredictor) isNew() bool { return p >= untried }

// skips reports whether to park without waiting.
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

// recordHit records that the reader waited, or would have had to wait for a moment, and input came. It
// reports whether that has ended a doubt.
func (p *idlePredictor) recordHit() bool {
	was := *p
	if *p++; !was.isNew() || *p == untried+hitsOfNew {
		*p = 0
	}
	return was.doubts() && !p.doubts()
}
