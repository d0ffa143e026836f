// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/bits"
	"sync"
)

// pool is a mem.BufferPool that knows what is lent. What comes back is overwritten, so that who
// still reads it is found.
type pool struct {
	w    *world
	mu   sync.Mutex
	lent map[*byte]int
	most int // bytes that were lent at a time
	now  int
	caps int // bytes of memory that are lent
}

// spare is what pools of earlier histories have left, by classes of sizes. One goroutine at a time
// runs histories.
var spare [32][]*[]byte

func newPool(w *world) *pool { return &pool{w: w, lent: map[*byte]int{}} }

// Get implements mem.BufferPool.
func (p *pool) Get(n int) *[]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	class := bits.Len(uint(max(n, 64) - 1))
	var b *[]byte
	if l := spare[class]; len(l) > 0 {
		b = l[len(l)-1]
		spare[class] = l[:len(l)-1]
	} else {
		s := make([]byte, 1<<class)
		b = &s
	}
	*b = (*b)[:n]
	p.lent[&(*b)[:1][0]] = n
	p.now += n
	p.caps += cap(*b)
	p.most = max(p.most, p.now)
	return b
}

// state is how many buffers are lent, and how much memory they have. A timer's goroutine may ask for a buffer
// next, without anything else between the two.
func (p *pool) state() (buffers, memory int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lent), p.caps
}

// Put implements mem.BufferPool.
func (p *pool) Put(b *[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cap(*b) == 0 {
		return
	}
	key := &(*b)[:1][0]
	n, ok := p.lent[key]
	if !ok {
		p.w.fail("a buffer of %d bytes is given back that was not lent", cap(*b))
		return
	}
	delete(p.lent, key)
	p.now -= n
	p.caps -= cap(*b)
	all := (*b)[:cap(*b)]
	dirty := all[:min(len(all), n+64)]
	for i := 0; i < len(dirty); {
		i += copy(dirty[i:], poison[:])
	}
	if class := bits.Len(uint(cap(*b) - 1)); cap(*b) == 1<<class && len(spare[class]) < 256 {
		spare[class] = append(spare[class], b)
	}
}

var poison = func() (p [4096]byte) {
	for i := range p {
		p[i] = 0xDB
	}
	return p
}()
