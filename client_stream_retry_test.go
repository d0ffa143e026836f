// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"
	"runtime"
	"testing"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
)

// TestKeptMessages: what is kept comes out as it was, in memory in proportion to its bytes, and all
// buffers are given back; an empty message counts, too.
func TestKeptMessages(t *testing.T) {
	for _, size := range []int{0, 3, 100, 1024, 1025} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			pool := internalmem.NewTiered(256, 512, 1<<10, 2<<10)
			cs := new(clientStream)
			cs.info.retryBuffer = defaultMaxRetryBuffer
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			n, fits := 0, true
			for ; fits; n++ {
				p := pool.Get(size)
				for i := range *p {
					(*p)[i] = byte(n + i)
				}
				m := sentMessage{out: outMessage{length: n}}
				m.out.payload.Data = transport.OnePiece(mem.NewBuffer(p, pool))
				m.out.payload.Compressed = n%3 == 0
				fits = cs.keepLocked(m)
			}
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if want := defaultMaxRetryBuffer/(size+5) + 1; n != want || cs.replay.Messages() != want {
				t.Errorf("%d messages are kept, %d counted, want %d", n, cs.replay.Messages(), want)
			}
			held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if !internalmem.Checking && held > 4*defaultMaxRetryBuffer {
				t.Errorf("%d bytes are held, for at most %d", held, defaultMaxRetryBuffer)
			}
			i := 0
			for m := range cs.keptLocked() {
				b := m.out.payload.Data.Materialize()
				if len(b) != size || size > 0 && (b[0] != byte(i) || b[size-1] != byte(i+size-1)) ||
					m.out.length != i || m.out.payload.Compressed != (i%3 == 0) {
					t.Fatalf("message %d: %d bytes, length %d", i, len(b), m.out.length)
				}
				i++
			}
			if i != n {
				t.Errorf("%d of %d messages come out", i, n)
			}
			for _, m := range cs.replay.Commit() {
				m.out.payload.Data.Free()
			}
			if left := pool.Stats().Buffers; left != 0 {
				t.Errorf("%d buffers are lost", left)
			}
		})
	}
}
