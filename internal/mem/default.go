// SPDX-License-Identifier: Apache-2.0

package mem

import "sync/atomic"

// defaultPool has the powers of two from 256 B to 16 MiB, and from 4 KiB on a second size a
// little above each. Payloads often have round sizes, to which the message around them adds
// a few bytes, and these must not cost twice the memory. The second sizes are those the
// runtime's allocator has anyway (its size classes below 32 KiB, its 8 KiB pages above). From 128 KiB
// on there are three more between two powers: a large message that waits, for a peer that does not read
// or a program that has not read it, takes a quarter more than its bytes at most.
var defaultPool = NewTiered(
	256, 512, 1<<10, 2<<10,
	4<<10, 4864,
	8<<10, 9472,
	16<<10, 18<<10,
	32<<10, 40<<10,
	64<<10, 72<<10,
	128<<10, 136<<10, 160<<10, 192<<10, 224<<10,
	256<<10, 264<<10, 320<<10, 384<<10, 448<<10,
	512<<10, 520<<10, 640<<10, 768<<10, 896<<10,
	1<<20, 1<<20+8<<10, 1280<<10, 1536<<10, 1792<<10,
	2<<20, 2<<20+8<<10, 2560<<10, 3072<<10, 3584<<10,
	4<<20, 4<<20+8<<10, 5120<<10, 6144<<10, 7168<<10,
	8<<20, 8<<20+8<<10, 10240<<10, 12288<<10, 14336<<10,
	16<<20, 16<<20+8<<10,
)

// Default returns the pool of the process. Tests and operators read its Stats.
func Default() *Tiered { return defaultPool }

var replacement atomic.Pointer[Pool]

// ReplaceDefault makes another pool the one that mem.DefaultBufferPool returns; nil undoes
// that. [Default] is not changed.
func ReplaceDefault(p Pool) {
	if p == nil {
		replacement.Store(nil)
		return
	}
	replacement.Store(&p)
}

// Replacement returns the pool that was given to ReplaceDefault, nil if none was.
func Replacement() Pool {
	if p := replacement.Load(); p != nil {
		return *p
	}
	return nil
}
