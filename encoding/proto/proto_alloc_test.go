// SPDX-License-Identifier: Apache-2.0

//go:build !race

package proto

import (
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/mem"
)

func TestAllocations(t *testing.T) {
	// The bytes, the slice of buffers, and the SliceBuffer's header in its interface;
	// or the slice of buffers and the reference counter.
	for size, ceiling := range map[int]float64{128: 3, 8 << 10: 3} {
		m := wrapperspb.Bytes(make([]byte, size))
		n := testing.AllocsPerRun(100, func() {
			data, err := codec{}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			data.Free()
		})
		if n > ceiling {
			t.Errorf("marshaling %d bytes allocates %v times", size, n)
		}
	}
	empty := new(emptypb.Empty)
	data := mem.BufferSlice{mem.SliceBuffer(nil)}
	if n := testing.AllocsPerRun(100, func() { _ = codec{}.Unmarshal(data, empty) }); n > 0 {
		t.Errorf("unmarshaling nothing allocates %v times", n)
	}
}
