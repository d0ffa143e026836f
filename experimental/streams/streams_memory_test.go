// SPDX-License-Identifier: Apache-2.0

//go:build !race

package streams_test

import (
	"runtime"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/streams"
)

// A further stream on a connection, without a goroutine on either side, takes at most 1.6 KB of
// the heap on each. Both are in this process, and what they take together is known.
func TestFurtherStream(t *testing.T) {
	const n, most = 1000, 2 * 1638
	h := newHub()
	r := newRig(t, &service{down: h.watch})
	heard := make(chan struct{}, 1)
	calls := &listenerCalls{OnMessage: func(*listener, *response) { heard <- struct{}{} }}
	all := make([]*listener, 0, 2*n)
	open := func() {
		c, err := streams.OpenServerStreaming(calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[response], error) {
			return r.client.StreamingOutputCall(r.ctx, &request{}, o)
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		if err := await(t, h.added, "a stream").Send(reply("hello")); err != nil {
			t.Fatal(err)
		}
		await(t, heard, "a message")
	}
	for range n {
		open()
	}
	before := heap()
	for range n {
		open()
	}
	took := int64(heap()-before) / n
	if t.Logf("one more stream takes %d bytes on both sides", took); took > most {
		t.Errorf("that is more than %d", most)
	}
	runtime.KeepAlive(all)
}

// heap is how much memory is in use once the collector has seen to it.
func heap() uint64 {
	for range 4 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
