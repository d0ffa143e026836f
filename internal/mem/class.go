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
	size      int
	kept      sync.Pool // of *[]byte with a capacity of exactly size
	shards    []shard   // a power of two of them
	limit     int64     // how many arrays a shard may keep
	allocated atomic.Int64
}

// shard fills a cache line, so that two processors don't fight over neighbours.
type shard struct {
	lent atomic.Int64
	kept atomic.Int64
	_    [48]byte
}

func newClass(size int) *class {
	n := min(runtime.GOMAXPROCS(0), keepBytes/size/keepPerShard, maxShards)
	n = 1 << max(bits.Len(uint(n))-1, 0)
	limit := max(keepBytes/size/n, 1)
	return &class{size: size, shards: make([]shard, n), limit: int64(limit)}
}

// get returns an array of the class, and whether somebody used it before.
func (c *class) get() (b *[]byte, reused bool) {
	if b, _ := c.kept.Get().(*[]byte); b != nil {
		s := c.shardOf(b)
		s.kept.Add(-1)
		s.lent.Add(1)
		return b, true
	}
	// Empty: also the collector may have emptied it, and kept says otherwise. Here the
	// count meets the truth again.
	for i := range c.shards {
		if s := &c.shards[i]; s.kept.Load() != 0 {
			s.kept.Store(0)
		}
	}
	c.allocated.Add(1)
	fresh := make([]byte, c.size)
	c.shardOf(&fresh).lent.Add(1)
	return &fresh, false
}

// put counts b as returned, and keeps it if it may and there is room.
func (c *class) put(b *[]byte, keep bool) {
	s := c.shardOf(b)
	s.lent.Add(-1)
	if !keep || s.kept.Load() >= c.limit {
		return // concurrent callers may exceed the limit by one each
	}
	s.kept.Add(1)
	c.kept.Put(b)
}

func (c *class) stats() Stats {
	s := Stats{Allocated: c.allocated.Load()}
	for i := range c.shards {
		s.Buffers += c.shards[i].lent.Load()
		s.Kept += max(c.shards[i].kept.Load(), 0)
	}
	s.Bytes, s.Kept = s.Buffers*int64(c.size), s.Kept*int64(c.size)
	return s
}

func (c *class) shardOf(b *[]byte) *shard {
	return &c.shards[hashAddress(unsafe.Pointer(b))&uint32(len(c.shards)-1)]
}

// hashAddress spreads addresses over 16 bits: those in the middle of the product depend
// on many bits of the address (Fibonacci hashing).
func hashAddress(p unsafe.Pointer) uint32 {
	return (uint32(uintptr(p)>>3) * 0x9E3779B1) >> 16
}
