// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"fmt"
	"sync"
	"testing"
)

// testPool counts what is out, spoils what comes back, and panics on a buffer
// that comes back twice or was never lent. It recycles by exact size, so that
// steady use allocates nothing.
type testPool struct {
	mu    sync.Mutex
	out   map[*byte]int
	free  map[int][]*[]byte
	bytes int
	moved chan struct{} // gets one token, if empty, at each Put
}

func newTestPool(t testing.TB) *testPool {
	p := &testPool{out: map[*byte]int{}, free: map[int][]*[]byte{}, moved: make(chan struct{}, 1)}
	t.Cleanup(func() {
		if n, _ := p.held(); n != 0 {
			t.Errorf("%d buffers are still out of the pool", n)
		}
	})
	return p
}

func (p *testPool) Get(n int) *[]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var buf *[]byte
	if l := p.free[n]; len(l) > 0 {
		buf, p.free[n] = l[len(l)-1], l[:len(l)-1]
	} else {
		b := make([]byte, n)
		buf = &b
	}
	p.out[&(*buf)[0]] = n
	p.bytes += n
	return buf
}

func (p *testPool) Put(buf *[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.out[&(*buf)[0]]
	if !ok || len(*buf) != n {
		panic(fmt.Sprintf("put of a buffer of %d bytes that is not out", len(*buf)))
	}
	delete(p.out, &(*buf)[0])
	p.bytes -= n
	for i := range *buf {
		(*buf)[i] = 0xdb
	}
	p.free[n] = append(p.free[n], buf)
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// held is what is out: buffers and their bytes.
func (p *testPool) held() (buffers, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.out), p.bytes
}

// awaitPut returns after a Put that happened since the last awaitPut: a reader
// that found nothing is at, or about to be at, its wait.
func (p *testPool) awaitPut() { <-p.moved }
