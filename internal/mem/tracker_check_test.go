// SPDX-License-Identifier: Apache-2.0

//go:build race || grpcpoison

package mem_test

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/internal/mem"
)

func TestPutPoisons(t *testing.T) {
	for _, n := range []int{100, 4096, 10000} { // in a class, and a plain one
		pool := mem.NewTiered(256, 4096)
		b := pool.Get(n)
		kept := *b
		fill(kept, 1)
		pool.Put(b)
		if !bytes.Equal(kept, bytes.Repeat([]byte{0xDB}, n)) {
			t.Errorf("%d bytes: returned memory kept its contents", n)
		}
	}
}

func TestSecondPutPanics(t *testing.T) {
	for _, n := range []int{0, 100, 10000} {
		pool := mem.NewTiered(256)
		b := pool.Get(n)
		again := *b
		pool.Put(b)
		wantPanic(t, "a second Put", func() { pool.Put(&again) })
	}
}

func TestWriteAfterPutPanics(t *testing.T) {
	wantPanic(t, "a write after Put", func() {
		for range 1000 { // sync.Pool may drop some
			pool := mem.NewTiered(256)
			b := pool.Get(100)
			kept := *b
			pool.Put(b)
			kept[99] = 1
			pool.Get(1)
		}
	})
}

// TestForeignSmallUntouched: a program that puts constants goes on working.
func TestForeignSmallUntouched(t *testing.T) {
	pool := mem.NewTiered(256)
	constant := make([]byte, 256)
	pool.Put(&constant)
	pool.Put(&constant)
	if !bytes.Equal(constant, make([]byte, 256)) {
		t.Error("it was overwritten")
	}
	for range 100 {
		if b := pool.Get(256); &(*b)[0] == &constant[0] {
			t.Fatal("it was lent")
		}
	}
}

// TestTrackerForgets: the memory of arrays that are gone is gone, as is what is known of them.
func TestTrackerForgets(t *testing.T) {
	pool := mem.NewTiered(256)
	for range 20000 {
		pool.Put(pool.Get(2000))
	}
}

func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}
