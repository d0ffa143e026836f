// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"time"
)

// purgeInterval is how often answers are looked through for those that are of no more use.
const purgeInterval = time.Minute

// purge is the timer's.
func (b *lb) purge() {
	b.mu.Lock()
	b.cache.purge(time.Now(), b.release)
	b.purging = nil
	b.schedulePurge()
	dead := b.collect()
	if len(dead) > 0 {
		b.publish()
	}
	b.mu.Unlock()
	closeAll(dead)
}

// schedulePurge starts the timer if there is something to purge. mu is held.
func (b *lb) schedulePurge() {
	if b.purging == nil && !b.closed && b.cache.len() > 0 {
		b.purging = time.AfterFunc(purgeInterval, b.purge)
	}
}
