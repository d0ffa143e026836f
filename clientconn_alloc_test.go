// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"
	"time"
)

// maxUnaryAllocs is for client and server together, the application's own included: two
// messages and two strings.
const maxUnaryAllocs = 12

func TestUnaryAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	in, out := &text{Value: "hello"}, new(text)
	invoke := func() {
		if err := cc.Invoke(ctx, unaryMethod, in, out); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		invoke()
	}
	if n := testing.AllocsPerRun(2000, invoke); n > maxUnaryAllocs {
		t.Errorf("%v allocations an RPC, want at most %d", n, maxUnaryAllocs)
	} else {
		t.Logf("%v allocations an RPC", n)
	}
}

func BenchmarkInvoke(b *testing.B) {
	s := serve(b, newEcho())
	cc := newTestClient(b, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	in, out := &text{Value: "hello"}, new(text)
	b.ReportAllocs()
	for b.Loop() {
		if err := cc.Invoke(ctx, unaryMethod, in, out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInvokeParallel(b *testing.B) {
	s := serve(b, newEcho())
	cc := newTestClient(b, s.addr)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		in, out := &text{Value: "hello"}, new(text)
		for pb.Next() {
			if err := cc.Invoke(context.Background(), unaryMethod, in, out); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkPingPong(b *testing.B) {
	s := serve(b, newEcho())
	cc := newTestClient(b, s.addr)
	st, err := cc.NewStream(context.Background(), bidiStream, bidiMethod)
	if err != nil {
		b.Fatal(err)
	}
	in, out := &text{Value: "hello"}, new(text)
	b.ReportAllocs()
	for b.Loop() {
		if err := st.SendMsg(in); err != nil {
			b.Fatal(err)
		}
		if err := st.RecvMsg(out); err != nil {
			b.Fatal(err)
		}
	}
	_ = st.CloseSend()
	_ = st.RecvMsg(out)
}
