// SPDX-License-Identifier: Apache-2.0

package mem

import "unsafe"

// Pool is what public package mem calls a BufferPool.
type Pool interface {
	Get(length int) *[]byte
	Put(*[]byte)
}

// Forgetter is a Pool that can leave a buffer to its borrower, in place of Put.
type Forgetter interface {
	Forget(b *[]byte)
}

// ExactGetter is a Forgetter that can lend a buffer of about the size that is asked for: see
// Tiered.GetExact.
type ExactGetter interface {
	GetExact(length int) *[]byte
}

// Counting adds Stats to another pool. It counts what passes through itself, by
// capacity; Kept and Allocated stay zero, because only the other pool knows them.
type Counting struct {
	pool   Pool
	shards [8]countShard
}

type countShard struct {
	plainCount
	_ [40]byte
}

// NewCounting returns a pool that counts in front of pool.
func NewCounting(pool Pool) *Counting { return &Counting{pool: pool} }

// Get lends a buffer of the other pool.
func (c *Counting) Get(length int) *[]byte {
	return c.lent(c.pool.Get(length))
}

// GetExact is Get, or the other pool's GetExact, if it has one.
func (c *Counting) GetExact(length int) *[]byte {
	if e, ok := c.pool.(ExactGetter); ok {
		return c.lent(e.GetExact(length))
	}
	return c.Get(length)
}

func (c *Counting) lent(b *[]byte) *[]byte {
	s := c.shardOf(b)
	s.buffers.Add(1)
	s.bytes.Add(int64(cap(*b)))
	return b
}

// Put passes a buffer on to the other pool; nil is ignored.
func (c *Counting) Put(b *[]byte) {
	if b == nil {
		return
	}
	c.shardOf(b).returned(cap(*b))
	c.pool.Put(b)
}

// Forget leaves a buffer to the caller for good, as the other pool does. If the other pool has no Forget,
// it never gets the buffer back.
func (c *Counting) Forget(b *[]byte) {
	c.shardOf(b).returned(cap(*b))
	if f, ok := c.pool.(Forgetter); ok {
		f.Forget(b)
	}
}

// Stats reports what is lent.
func (c *Counting) Stats() Stats {
	var s Stats
	for i := range c.shards {
		s = s.plus(c.shards[i].stats())
	}
	return s
}

func (c *Counting) shardOf(b *[]byte) *countShard {
	return &c.shards[hashAddress(unsafe.Pointer(b))%uint32(len(c.shards))]
}
