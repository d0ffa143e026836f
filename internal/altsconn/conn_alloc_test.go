// SPDX-License-Identifier: Apache-2.0

//go:build !race

package altsconn

import (
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// In steady state a record costs no allocation on either side.
func TestNoAllocations(t *testing.T) {
	needsTry(t)
	for _, n := range []int{100, 10_000, 200_000} {
		a, b := pair(t, "tcp", Config{MaxRecord: MaxRecord})
		w, r := a.(readyreader.Layer), b.(readyreader.Layer)
		msg := make([]byte, n)
		send := func() {
			if _, err := w.TryWrite(msg); err == readyreader.ErrWouldBlock {
				go w.Write(nil)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		got := testing.AllocsPerRun(100, func() {
			send()
			for left := n; left > 0; {
				buf, k, err := r.ReadOnReady(32<<10, mem.DefaultBufferPool())
				if err != nil {
					t.Fatal(err)
				}
				left -= k
				mem.DefaultBufferPool().Put(buf)
			}
		})
		if got > 1 { // the goroutine that flushes, now and then
			t.Errorf("%d bytes: %v allocations", n, got)
		}
	}
}
