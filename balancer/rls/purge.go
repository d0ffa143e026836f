// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"time"
)

// purgeInterval is the interval at which answers that are of no more use are removed.
const purgeInterval = time.Minute

// purge removes answers that are of no more use. The timer calls it.
func (b *lb) purge() {
	b.mu.Lock()
	b.cache.purge(time.Now(), b.release)
	b.purging = nil
	b.schedulePurge()
	b.mu.Unlock()
	b.sweep()
}

// sweep closes the children that nothing holds any more.
func (b *lb) sweep() {
	b.mu.Lock()
	dead := b.collect()
	if len(dead) > 0 {
		b.publish()
	}
	b.mu.Unlock()
	closeAll(dead)
}

// schedulePurge starts the timer unless it runs or the cache is empty. The caller must hold mu.
func (b *lb) schedulePurge() {
	if b.purging == nil && !b.closed && b.cache.len() > 0 {
		b.purging = time.AfterFunc(purgeInterval, b.purge)
	}
}
