// SPDX-License-Identifier: Apache-2.0

//go:build race

package mem

import (
	"bytes"
	"fmt"
	"sync"
	"weak"
)

// Checking tells whether this build poisons returned buffers and panics on misuse.
const Checking = true

// poison fills returned arrays. It is no valid UTF-8, a huge varint, and as a length
// far above any limit: what reads it by mistake fails loudly.
const poison = 0xDB

var poisonPage = bytes.Repeat([]byte{poison}, 4096)

// tracker knows of every array whether it is in the pool. The keys are weak: what the
// pool or a caller drops can be collected, and the key of a later array at the same
// address is another one.
type tracker struct {
	mu     sync.Mutex
	inPool map[weak.Pointer[byte]]bool // false: lent
	sweep  int                         // the size at which dead keys are removed
}

// lend notes that the pool hands out b.
func (t *tracker) lend(b *[]byte, reused bool) {
	if cap(*b) == 0 {
		return
	}
	if reused && !isPoisoned((*b)[:cap(*b)]) {
		panic(fmt.Sprintf("mem: a buffer of %d bytes was written to after it went back to its pool", cap(*b)))
	}
	t.set(b, false)
}

// giveBack notes that the pool gets b back, and overwrites it. The array may be unknown to the
// pool; only a second Put is an error.
func (t *tracker) giveBack(b *[]byte) {
	if cap(*b) == 0 {
		return
	}
	if wasIn := t.set(b, true); wasIn {
		panic(fmt.Sprintf("mem: a buffer of %d bytes was put into its pool twice", cap(*b)))
	}
	for rest := (*b)[:cap(*b)]; len(rest) > 0; {
		rest = rest[copy(rest, poisonPage):]
	}
}

func (t *tracker) set(b *[]byte, in bool) (wasIn bool) {
	key := weak.Make(&(*b)[:1][0])
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inPool == nil {
		t.inPool = make(map[weak.Pointer[byte]]bool)
	}
	wasIn = t.inPool[key]
	t.inPool[key] = in
	if len(t.inPool) > max(t.sweep, 1024) {
		for k := range t.inPool {
			if k.Value() == nil {
				delete(t.inPool, k)
			}
		}
		t.sweep = 2 * len(t.inPool)
	}
	return wasIn
}

func isPoisoned(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), len(poisonPage))
		if !bytes.Equal(b[:n], poisonPage[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
