// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"google.golang.org/grpc/mem"
)

func TestUnaryEcho(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, size := range []int{0, 1, 128, 16 << 10, 100 << 10, 1 << 20, 5 << 20} {
			t.Run(fmt.Sprint(network, size), func(t *testing.T) {
				s := startServer(t, network, ServerConfig{MaxRecvMsgSize: 64 << 20}, echoUnary)
				c, _ := s.dial(nil)
				msg := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
				for range 3 {
					got, err := unary(context.Background(), c, msg)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, msg) {
						t.Fatalf("reply of %d bytes differs", len(got))
					}
				}
			})
		}
	}
}

func TestManyCallers(t *testing.T) {
	s := startServer(t, "tcp", ServerConfig{}, echoUnary)
	c, _ := s.dial(nil)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			msg := fmt.Appendf(nil, "message of caller %d", i)
			for range 200 {
				got, err := unary(context.Background(), c, msg)
				if err != nil || !bytes.Equal(got, msg) {
					t.Errorf("caller %d: %q, %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestStreamEcho(t *testing.T) {
	s := startServer(t, "tcp", ServerConfig{}, echoStream)
	c, _ := s.dial(nil)
	st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 4 << 20}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		msg := bytes.Repeat([]byte{byte(i)}, i*1000)
		if err := st.Send(payload(msg), false); err != nil {
			t.Fatal(err)
		}
		m, err := st.Recv()
		if err != nil {
			t.Fatal(err, st.Status())
		}
		if !bytes.Equal(m.Data.ReadOnlyData(), msg) {
			t.Fatalf("message %d differs", i)
		}
		m.Data.Free()
	}
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err != io.EOF || st.Status() != nil {
		t.Fatalf("end: %v, %v", err, st.Status())
	}
}

func BenchmarkUnary(b *testing.B) {
	for _, size := range []int{128, 8 << 10} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("size=%d/callers=%d", size, callers), func(b *testing.B) { benchmarkUnary(b, size, callers) })
		}
	}
}

func benchmarkUnary(b *testing.B, size, callers int) {
	s := startServer(b, "tcp", ServerConfig{}, echoUnary)
	c, _ := s.dial(nil)
	msg := make([]byte, size)
	b.ReportAllocs()
	b.SetParallelism(callers)
	call := &Call{Method: "/test.Echo/Unary", MaxRecvMsgSize: 4 << 20}
	run := func() {
		p := Payload{Data: OnePiece(mem.SliceBuffer(msg))}
		st, err := c.NewStream(context.Background(), call, &p, true)
		if err != nil {
			b.Error(err)
			return
		}
		st.AwaitEnd()
		m, err := st.Recv()
		if err != nil {
			b.Error(err, st.Status())
			return
		}
		m.Data.Free()
	}
	if callers == 1 {
		for b.Loop() {
			run()
		}
		return
	}
	b.SetParallelism(callers / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			run()
		}
	})
}

func BenchmarkStream(b *testing.B) {
	s := startServer(b, "tcp", ServerConfig{}, echoStream)
	c, _ := s.dial(nil)
	st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 4 << 20}, nil, false)
	if err != nil {
		b.Fatal(err)
	}
	msg := make([]byte, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := st.Send(payload(msg), false); err != nil {
			b.Fatal(err)
		}
		m, err := st.Recv()
		if err != nil {
			b.Fatal(err, st.Status())
		}
		m.Data.Free()
	}
	st.Cancel(context.Canceled)
}
