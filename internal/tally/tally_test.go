// SPDX-License-Identifier: Apache-2.0

package tally

import (
	"sync"
	"testing"
	"unsafe"
)

func TestTally(t *testing.T) {
	var count Tally
	var all sync.WaitGroup
	things := make([][512]byte, 100)
	used := map[any]bool{}
	for i := range things {
		p := unsafe.Pointer(&things[i])
		used[count.At(p)] = true
		all.Go(func() {
			for range 1000 {
				count.At(p).Add(2)
				count.At(p).Add(-1)
			}
		})
	}
	all.Wait()
	if n := count.Sum(); n != 100_000 {
		t.Errorf("the sum is %d", n)
	}
	if len(used) != len(count) {
		t.Errorf("100 things in a row are in %d shards of %d", len(used), len(count))
	}
}

func TestShardsShareNoCacheLine(t *testing.T) {
	const line = 64
	if size := unsafe.Sizeof(Tally{}[0]); size != line {
		t.Errorf("a shard has %d bytes", size)
	}
}
