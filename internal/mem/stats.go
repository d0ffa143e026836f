// SPDX-License-Identifier: Apache-2.0

package mem

import "sync/atomic"

// Stats says what a pool has lent and what it keeps. While buffers move, the figures
// are of slightly different moments; at rest they are exact.
//
// Buffers is the leak count: it returns to its old value when everybody has given
// back what they took. An array which did not come from the pool and is put into
// it lowers Buffers.
type Stats struct {
	Buffers   int64 // lent and not yet returned
	Bytes     int64 // the capacity of those
	Kept      int64 // bytes that wait for reuse; collections lower the real figure, and each processor may have one array more
	Allocated int64 // how many buffers had to be allocated since the pool exists
}

func (s Stats) plus(o Stats) Stats {
	return Stats{
		Buffers:   s.Buffers + o.Buffers,
		Bytes:     s.Bytes + o.Bytes,
		Kept:      s.Kept + o.Kept,
		Allocated: s.Allocated + o.Allocated,
	}
}

// plainCount counts the buffers outside the classes. Each of them is an allocation,
// which costs far more than an atomic addition, so it is not sharded.
type plainCount struct {
	buffers, bytes, allocated atomic.Int64
}

func (p *plainCount) lent(capacity int) {
	p.buffers.Add(1)
	p.bytes.Add(int64(capacity))
	p.allocated.Add(1)
}

func (p *plainCount) returned(capacity int) {
	p.buffers.Add(-1)
	p.bytes.Add(-int64(capacity))
}

func (p *plainCount) stats() Stats {
	return Stats{Buffers: p.buffers.Load(), Bytes: p.bytes.Load(), Allocated: p.allocated.Load()}
}
