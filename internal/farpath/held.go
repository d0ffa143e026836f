// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"container/heap"
	"math/bits"
	"time"
)

// held keeps packets until they are due, and gives those back first that are due first, of
// those due together the one that came first.
type held struct {
	packets packets
	came    uint64
}

type packet struct {
	data []byte
	due  time.Time
	nth  uint64
}

func (h *held) add(data []byte, due time.Time) {
	h.came++
	heap.Push(&h.packets, packet{data, due, h.came})
}

// next is the packet that is due next; there must be one.
func (h *held) next() packet { return h.packets[0] }

// take removes the next packet.
func (h *held) take() []byte { return heap.Pop(&h.packets).(packet).data }

func (h *held) len() int { return len(h.packets) }

// packets are a heap.
type packets []packet

func (p packets) Len() int      { return len(p) }
func (p packets) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p packets) Less(i, j int) bool {
	if p[i].due.Equal(p[j].due) {
		return p[i].nth < p[j].nth
	}
	return p[i].due.Before(p[j].due)
}
func (p *packets) Push(x any) { *p = append(*p, x.(packet)) }

func (p *packets) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = packet{}
	*p = (*p)[:last]
	return x
}

// buffers keeps memory of packets that were delivered for those that come: by the power of two
// that they have room for.
type buffers struct{ spare [18][][]byte }

func (b *buffers) get(size int) []byte {
	class := bits.Len(uint(size - 1))
	spare := &b.spare[class]
	if n := len(*spare); n > 0 {
		buf := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return buf[:0]
	}
	return make([]byte, 0, 1<<class)
}

func (b *buffers) put(buf []byte) {
	class := bits.Len(uint(cap(buf) - 1))
	b.spare[class] = append(b.spare[class], buf)
}
