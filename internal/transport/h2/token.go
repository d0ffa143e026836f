// SPDX-License-Identifier: Apache-2.0

package h2

import "sync/atomic"

// token spares the holder of the write token the lock where it has nothing to do but give that back.
// Whoever takes the last parcel offers the token with it. When the parcel is written the holder takes the
// offer, and is none any more. Whoever gets mu meanwhile takes the offer back, since something may be
// queued now: the holder then looks, under the lock, what there is.
type token struct {
	offered   atomic.Bool // one of the two takes it
	isOffered bool        // since nobody had mu; guarded by mu
}

// offer is for the holder, with mu.
func (t *token) offer() {
	t.isOffered = true
	t.offered.Store(true)
}

// giveBack is for the holder, without mu. It reports false if the token is still its own.
func (t *token) giveBack() bool { return t.offered.CompareAndSwap(true, false) }

// takeBack is for whoever has got mu, after an offer. It reports whether the token was given back.
func (t *token) takeBack() bool {
	t.isOffered = false
	return !t.offered.CompareAndSwap(true, false)
}
