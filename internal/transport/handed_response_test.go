// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"

	"google.golang.org/grpc/mem"
)

// TestHandedTiny: of messages of no or of a few bytes that wait for a client, behind net/http, there are as
// many as their memory allows for, not as their bytes.
func TestHandedTiny(t *testing.T) {
	for _, size := range []int{0, 1, 100, 100 << 10} {
		s := &HandlerStream{}
		s.ctx.Context = t.Context()
		h := &handedResponse{work: make(chan struct{}, 1)}
		s.handed.Store(h)
		n := 0
		for ; s.ArmRoom(nil, false) && n < handedBuffer; n++ {
			p := Payload{Data: OnePiece(mem.SliceBuffer(make([]byte, size)))}
			if err := h.add(p); err != nil {
				t.Fatal(err)
			}
		}
		if most := handedBuffer/(handedOverhead+size) + 1; n > most {
			t.Errorf("%d messages of %d bytes wait, at most %d", n, size, most)
		}
		for p, ok := h.next(); ok; p, ok = h.next() {
			h.wrote(handedCost(&p))
			p.Data.Free()
		}
		if h.size != 0 {
			t.Errorf("messages of %d bytes: %d are left", size, h.size)
		}
	}
}
