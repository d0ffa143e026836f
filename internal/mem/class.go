// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	// keepBytes bounds what one class keeps for later, so that the peak of a burst
	// doesn't stay until the collector has run twice, which in a process that went
	// quiet takes minutes.
	keepBytes = 32 << 20
	// keepPerShard is the least number of arrays that a shard may keep.
	keepPerShard = 4
	maxShards    = 64
)

// class keeps the arrays of one size.
//
// The counters are sharded by the address of the slice header. An array is counted
// out and in on the same shard, and since sync.Pool tends to hand an array to the
// processor that returned it, the shard's cache line stays there too.
type class struct {
	size   int
	kept   sync.Pool // of *[]byte with a capacity of exactly size
	shards []shard   // a power of two of them
	limit  int64     // how many arrays a shard may keep
	// inexact is how many requests for arrays to keep are still served like all others.
	inexact atomic.Int32
}

// shard counts lent and kept arrays in one word, so that a loan and a return cost one atomic addition each.
// The low half counts the kept arrays. A shard fills a cache line, so that processors do not share one.
type shard struct {
	word      atomic.Int64
	allocated atomic.Int64 // how many arrays were allocated that it counted first
	_         [48]byte
}

const (
	oneLent = 1 << 32
	oneKept = 1
)

// halves splits the word. Each half is a signed number: foreign arrays lower lent, and
// kept is an estimate.
func halves(word int64) (lent, kept int64) {
	kept = int64(int32(word))
	return (word - kept) >> 32, kept
}

// forget sets kept to zero. If another addition comes in between, the next try will do.
func (s *shard) forget() {
	word := s.word.Load()
	if _, kept := halves(word); kept != 0 {
		s.word.CompareAndSwap(word, word-kept*oneKept)
	}
}

func newClass(size int) *class {
	n := min(runtime.GOMAXPROCS(0), keepBytes/size/keepPerShard, maxShards)
	n = 1 << max(bits.Len(uint(n))-1, 0)
	limit := max(keepBytes/size/n, 1)
	return &class{size: size, shards: make([]shard, n), limit: int64(limit)}
}

// get returns an array of the class, and whether somebody used it before.
func (c *class) get() (_ *[]byte, reused bool) {
	if b, _ := c.kept.Get().(*[]byte); b != nil {
		c.shardOf(b).word.Add(oneLent - oneKept)
		return b, true
	}
	// Nothing is kept, perhaps because the collector has dropped it, which the counters don't
	// show: they are corrected here.
	for i := range c.shards {
		c.shards[i].forget()
	}
	b := fresh(c.size)
	s := c.shardOf(&b)
	s.allocated.Add(1)
	s.word.Add(oneLent)
	return &b, false
}

// inexactRuns is how many requests for arrays to keep are served like all others, after an array that was
// made for its request has come back.
const inexactRuns = 31

// wastes reports whether an array of the class is more than a fifth larger than length, which it holds.
func (c *class) wastes(length int) bool { return length < c.size-c.size/6 }

// makesExact reports whether a request for an array to keep gets one of its own.
func (c *class) makesExact() bool { return c.inexact.Load() <= 0 || c.inexact.Add(-1) < 0 }

// put counts b as returned, and keeps it if it may and there is room.
func (c *class) put(b *[]byte, keep bool) {
	s := c.shardOf(b)
	if !keep {
		s.word.Add(-oneLent)
		return
	}
	if _, kept := halves(s.word.Add(oneKept - oneLent)); kept > c.limit {
		s.word.Add(-oneKept)
		return
	}
	c.kept.Put(b)
}

func (c *class) stats() Stats {
	var lent, kept, allocated int64
	for i := range c.shards {
		l, k := halves(c.shards[i].word.Load())
		lent += l
		kept += max(k, 0)
		allocated += c.shards[i].allocated.Load()
	}
	size := int64(c.size)
	return Stats{Buffers: lent, Bytes: lent * size, Kept: kept * size, Allocated: allocated}
}

func (c *class) shardOf(b *[]byte) *shard {
	return &c.shards[hashAddress(unsafe.Pointer(b))&uint32(len(c.shards)-1)]
}

// hashAddress spreads addresses over 16 bits: those in the middle of the product depend
// on many bits of the address (Fibonacci hashing).
func hashAddress(p unsafe.Pointer) uint32 {
	return (uint32(uintptr(p)>>3) * 0x9E3779B1) >> 16
}
