// SPDX-License-Identifier: Apache-2.0

package h2

import "sync/atomic"

// token spares the holder of the write token the lock where it has nothing to do but give that back.
// When it takes the last parcel it offers the token. When the parcel is written it accepts its own offer, and
// the token is free. A goroutine that gets mu meanwhile withdraws the offer, since it may queue something:
// the holder then looks, under the lock, what there is.
type token struct {
	offered   atomic.Bool // until the holder accepts it, or somebody withdraws it
	isOffered bool        // since nobody had mu; guarded by mu
}

// offer is for the holder, with mu.
func (t *token) offer() {
	t.isOffered = true
	t.offered.Store(true)
}

// giveBack is for the holder, without mu. It reports false if the token is still its own.
func (t *token) giveBack() bool { return t.offered.CompareAndSwap(true, false) }

// takeBack withdraws an offer. It is for a goroutine that has just got mu. It reports true if it came too late:
// the token is free.
func (t *token) takeBack() bool {
	t.isOffered = false
	return !t.offered.CompareAndSwap(true, false)
}
