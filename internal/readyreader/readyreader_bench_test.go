// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"testing"

	"google.golang.org/grpc/mem"
)

// BenchmarkPingPong is one small message to an echoing peer and back, with the
// buffer held for life and held only while there are bytes in it.
func BenchmarkPingPong(b *testing.B) {
	needsDescriptor(b)
	for _, pooled := range []bool{false, true} {
		name := "fixed"
		if pooled {
			name = "pooled"
		}
		b.Run(name, func(b *testing.B) {
			self, peer := connPair(b, "tcp")
			go echo(peer)
			br := New(NewSocket(self), Options{Pool: mem.DefaultBufferPool(), Size: 32 << 10, Pooled: pooled})
			w := NewSocket(self)
			msg := make([]byte, 128)
			b.ReportAllocs()
			for b.Loop() {
				w.TryWrite(msg)
				br.Peek(9)
				if _, err := br.Discard(len(msg)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func echo(c interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
},
) {
	p := make([]byte, 4096)
	for {
		n, err := c.Read(p)
		if err != nil {
			return
		}
		c.Write(p[:n])
	}
}
