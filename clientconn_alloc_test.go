// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxUnaryAllocs is for client and server together, the application's own included: the server's
// message, two strings, and the function that generated code makes. It is one less where there is
// no context to wait for.
const maxUnaryAllocs = 10

func TestUnaryAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := serve(t, newEcho())
	defaults := WithDefaultCallOptions(MaxCallRecvMsgSize(1 << 20))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, tt := range []struct {
		name string
		cc   *ClientConn
		ctx  context.Context
		opts []CallOption
		most float64
	}{
		{"deadline", newTestClient(t, s.addr), ctx, nil, maxUnaryAllocs},
		{"no deadline", newTestClient(t, s.addr), context.Background(), nil, maxUnaryAllocs - 1},
		{"options", newTestClient(t, s.addr, defaults), ctx, []CallOption{StaticMethod()}, maxUnaryAllocs},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, out := &text{Value: "hello"}, new(text)
			invoke := func() {
				if err := tt.cc.Invoke(tt.ctx, unaryMethod, in, out, tt.opts...); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				invoke()
			}
			if n := testing.AllocsPerRun(2000, invoke); n > tt.most {
				t.Errorf("%v allocations an RPC, want at most %v", n, tt.most)
			} else {
				t.Logf("%v allocations an RPC", n)
			}
		})
	}
}

// TestUnaryBytes: calls of 8 KiB, many at a time, allocate what their payloads take where they are decoded,
// and at most 1 KB beside that on either side.
func TestUnaryBytes(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // pools are emptied less often
	const (
		size           = 8 << 10
		callers, calls = 64, 100
	)
	cc := newTestClient(t, serve(t, newEcho()).addr)
	all := func() {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				in := &text{Value: strings.Repeat("8", size)}
				for range calls {
					if err := cc.Invoke(context.Background(), unaryMethod, in, new(text)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	all()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all()
	runtime.ReadMemStats(&after)
	n := (after.TotalAlloc - before.TotalAlloc) / (callers * calls)
	if most := uint64(2 * (size + 1<<10)); n > most {
		t.Errorf("a call allocates %d bytes, want at most %d", n, most)
	}
	t.Logf("%d bytes a call", n)
}

// maxMessageAllocs is for a message there and back on a stream, client and server together: what
// they are decoded into, which are the server's message and two strings.
const maxMessageAllocs = 3

func TestStreamAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	st, err := newTestClient(t, serve(t, newEcho()).addr).NewStream(t.Context(), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	in, out := &text{Value: strings.Repeat("m", 1<<10)}, new(text)
	exchange := func() { pingPong(t, st, in, out) }
	for range 100 {
		exchange()
	}
	if n := testing.AllocsPerRun(2000, exchange); n > maxMessageAllocs {
		t.Errorf("%v allocations for a message there and back, want at most %d", n, maxMessageAllocs)
	}
}

func pingPong(t testing.TB, st ClientStream, in, out any) {
	if err := st.SendMsg(in); err != nil {
		t.Error(err)
	}
	if err := st.RecvMsg(out); err != nil {
		t.Error(err)
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
		pingPong(b, st, in, out)
	}
	_ = st.CloseSend()
	_ = st.RecvMsg(out)
}

// BenchmarkStreams has 64 streams of one connection on which 1 KiB goes to and fro. The
// instructions that a message takes are the slope over two lengths (-benchtime 6400x and 19200x)
// under valgrind --tool=callgrind.
func BenchmarkStreams(b *testing.B) {
	cc := newTestClient(b, serve(b, newEcho()).addr)
	in := &text{Value: strings.Repeat("m", 1<<10)}
	var wg sync.WaitGroup
	b.ReportAllocs()
	for i := range 64 {
		st, err := cc.NewStream(b.Context(), bidiStream, bidiMethod)
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			for out, n := new(text), i; n < b.N; n += 64 {
				pingPong(b, st, in, out)
			}
			_ = st.CloseSend()
			_ = st.RecvMsg(new(text))
		})
	}
	wg.Wait()
}
