// SPDX-License-Identifier: Apache-2.0

package mem_test

import (
	"testing"

	"google.golang.org/grpc/mem"
)

func TestPools(t *testing.T) {
	binary, err := mem.NewBinaryTieredBufferPool(8, 12)
	if err != nil {
		t.Fatal(err)
	}
	pools := map[string]mem.BufferPool{
		"default": mem.DefaultBufferPool(),
		"tiered":  mem.NewTieredBufferPool(10, 1000),
		"none":    mem.NewTieredBufferPool(),
		"binary":  binary,
		"nop":     mem.NopBufferPool{},
	}
	for name, pool := range pools {
		for _, n := range []int{0, 1, 255, 256, 1000, 5000, 5 << 20} {
			b := pool.Get(n)
			if len(*b) != n {
				t.Errorf("%s: Get(%d) has length %d", name, n, len(*b))
			}
			pool.Put(b)
		}
	}
}

func TestBinaryPoolRefuses(t *testing.T) {
	if p, err := mem.NewBinaryTieredBufferPool(8, 64); err == nil || p != nil {
		t.Errorf("2^64 bytes: %v, %v", p, err)
	}
}

func TestThreshold(t *testing.T) {
	for n, want := range map[int]bool{0: true, 1024: true, 1025: false} {
		if got := mem.IsBelowBufferPoolingThreshold(n); got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
}

func TestNopIsComparable(t *testing.T) {
	var p mem.BufferPool = mem.NopBufferPool{}
	if p != mem.BufferPool(mem.NopBufferPool{}) {
		t.Error("two of them differ")
	}
}
