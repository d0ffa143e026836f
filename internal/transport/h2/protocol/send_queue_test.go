// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"testing"
	"unsafe"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// framesOf is a message of n bytes in a buffer of the pool.
func framesOf(n int, pool mem.BufferPool) *Frames {
	p := pool.Get(n)
	for i := range *p {
		(*p)[i] = byte(n + i)
	}
	return &Frames{HasData: true, Prefix: [5]byte{0, 0, 0, byte(n >> 8), byte(n)}, Data: OnePiece(mem.NewBuffer(p, pool))}
}

// TestSendQueueMemory: a peer that does not read makes a stream hold about the bytes that wait, no
// matter how small the messages are.
func TestSendQueueMemory(t *testing.T) {
	for _, size := range []int{0, 1, 10, 100, 300, 1000, 1500, 5000} {
		pool := internalmem.NewTiered(256, 512, 1<<10, 2<<10, 4<<10, 8<<10)
		q := newSendQueue(framesOf(size, pool), pool)
		for q.size < ShutBuffer {
			q.push(framesOf(size, pool), pool)
		}
		places := cap(q.parts) * int(unsafe.Sizeof(dataPart{}))
		held, bound := int(pool.Stats().Bytes)+places, 2*q.size+2<<10
		if size > copiedBelow {
			bound += q.size / size * 2 * minCoalesced // of the prefixes
		}
		if held > bound {
			t.Errorf("messages of %d bytes: %d bytes wait in %d bytes of memory, more than %d", size, q.size, held, bound)
		}
		q.drop(pool)
		if left := pool.Stats().Buffers; left != 0 {
			t.Errorf("messages of %d bytes: %d buffers are lost", size, left)
		}
	}
}

// TestSendQueueOrder: what was pushed comes out, in any pieces.
func TestSendQueueOrder(t *testing.T) {
	sizes := []int{3, 0, 900, 2000, 1, 1, 5000, 1023, 1024, 4, 700, 700, 700, 700, 700, 700, 700, 3000}
	for _, first := range []int{0, 4, 9} {
		for _, step := range []int{50, 1000, 1 << 20} {
			for _, uncopied := range []int{1, 2048, 1 << 20} {
				pool := internalmem.NewTiered(256, 1<<10, 4<<10, 16<<10)
				var want []byte
				var q *sendQueue
				for i := range sizes {
					f := framesOf(sizes[(first+i)%len(sizes)], pool)
					want = append(append(want, f.Prefix[:]...), f.Data.Materialize()...)
					if q == nil {
						q = newSendQueue(f, pool)
					} else {
						q.push(f, pool)
					}
				}
				var got []byte
				for q.size > 0 {
					var o Parcel
					o.Copy([]byte{'.'}, pool)
					n := min(step, q.size)
					q.moveTo(&o, n, uncopied, pool)
					if o.Whole() {
						got = append(got, o.Head()[1:]...)
					} else {
						got = append(got, bytes.Join(o.Vector(1), nil)...)
					}
					o.Free(pool)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("from %d, by %d, uncopied from %d: the bytes differ", first, step, uncopied)
				}
				if left := pool.Stats().Buffers; left != 0 || len(q.parts) > 0 {
					t.Errorf("from %d, by %d: %d buffers are lost, %d parts left", first, step, left, len(q.parts))
				}
			}
		}
	}
}
