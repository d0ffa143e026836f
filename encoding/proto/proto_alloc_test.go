// SPDX-License-Identifier: Apache-2.0

//go:build !race

package proto

import (
	"testing"

	"google.golang.org/protobuf/proto"
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

// TestAroundAllocations: to encode a message around its field takes a few small allocations, and to decode
// it where it lies none of its size.
func TestAroundAllocations(t *testing.T) {
	m := wrapperspb.Bytes(make([]byte, 1<<20))
	n := testing.AllocsPerRun(100, func() {
		if _, large, _, err := (codec{}).MarshalAround(m); err != nil || len(large) != 1<<20 {
			t.Fatal(len(large), err)
		}
	})
	if n > 2 {
		t.Errorf("encoding around a field allocates %v times", n)
	}
	t.Logf("%v allocations to encode", n)
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	wire = wire[:len(wire):len(wire)]
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if owned, err := (codec{}).UnmarshalOwn(wire, new(wrapperspb.BytesValue)); err != nil || !owned {
				b.Fatal(owned, err)
			}
		}
	})
	if r.AllocedBytesPerOp() > 1<<10 {
		t.Errorf("decoding allocates %d bytes", r.AllocedBytesPerOp())
	}
	t.Logf("%d bytes in %d allocations to decode", r.AllocedBytesPerOp(), r.AllocsPerOp())
}
