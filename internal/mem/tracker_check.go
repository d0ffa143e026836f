// SPDX-License-Identifier: Apache-2.0

//go:build race || grpcpoison

package mem

import (
	"bytes"
	"fmt"
	"sync"
	"weak"
)

// Checking tells whether this build poisons returned buffers and panics on misuse.
const Checking = true

// poison fills returned arrays. It is not valid UTF-8, as a varint it is huge, and as a length
// it is far above any limit: whatever reads it by mistake fails.
const poison = 0xDB

var poisonPage = bytes.Repeat([]byte{poison}, 4096)

// gentle is the size up to which an array that did not come from the pool is let go without a check.
// Programs hand constants to NewBuffer, and in other builds nothing happens to small ones.
const gentle = 1 << 10

// tracker knows of every array whether it is in the pool. The keys are weak: an array that the pool or a
// caller drops can be collected, and a later array at the same address has another key.
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
	key := keyOf(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(key, false)
}

// giveBack notes that the pool gets b back, overwrites it, and reports whether the pool
// may keep it. The pool need not have lent it; but it must not be in the pool already.
func (t *tracker) giveBack(b *[]byte) bool {
	if cap(*b) == 0 {
		return false
	}
	key := keyOf(b)
	t.mu.Lock()
	wasIn, known := t.inPool[key]
	if !known && cap(*b) <= gentle {
		t.mu.Unlock()
		return false
	}
	t.set(key, true)
	t.mu.Unlock()

	if wasIn {
		panic(fmt.Sprintf("mem: a buffer of %d bytes was put into its pool twice", cap(*b)))
	}
	for rest := (*b)[:cap(*b)]; len(rest) > 0; {
		rest = rest[copy(rest, poisonPage):]
	}
	return true
}

// forget notes that the pool will not have b again. It must have been lent.
func (t *tracker) forget(b *[]byte) {
	if cap(*b) == 0 {
		return
	}
	key := keyOf(b)
	t.mu.Lock()
	wasIn := t.inPool[key]
	delete(t.inPool, key)
	t.mu.Unlock()
	if wasIn {
		panic(fmt.Sprintf("mem: a buffer of %d bytes was forgotten that is in its pool", cap(*b)))
	}
}

func (t *tracker) set(key weak.Pointer[byte], in bool) {
	if t.inPool == nil {
		t.inPool = make(map[weak.Pointer[byte]]bool)
	}
	t.inPool[key] = in
	if len(t.inPool) > max(t.sweep, 1024) {
		for k := range t.inPool {
			if k.Value() == nil {
				delete(t.inPool, k)
			}
		}
		t.sweep = 2 * len(t.inPool)
	}
}

func keyOf(b *[]byte) weak.Pointer[byte] { return weak.Make(&(*b)[:1][0]) }

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
