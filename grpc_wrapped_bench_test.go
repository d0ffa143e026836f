// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/experimental/footprint"
)

// embedding leaves all to what it embeds.
type embedding struct{ net.Conn }

// metering counts what it carries.
type metering struct {
	net.Conn
	in, out atomic.Int64
}

func (m *metering) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.in.Add(int64(n))
	return n, err
}

func (m *metering) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.out.Add(int64(n))
	return n, err
}

// wrappingListener puts something around what it accepts.
type wrappingListener struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l wrappingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c), nil
}

// wrappedPair is a server and a client whose connections are wrapped.
func wrappedPair(t testing.TB, e *echo, accepted, dialed func(net.Conn) net.Conn, opts ...ServerOption) (*ClientConn, *Server) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(opts...)
	s.RegisterService(&echoDesc, e)
	go func() { _ = s.Serve(wrappingListener{lis, accepted}) }()
	t.Cleanup(s.Stop)
	return newTestClient(t, "passthrough:///"+lis.Addr().String(), WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return dialed(c), nil
	})), s
}

// BenchmarkWrapped makes calls, and exchanges messages of a stream, through wrapped connections,
// once it is known of these how they can be read. Instructions are counted with
//
//	go test -c . && valgrind --tool=callgrind ./grpc.test -test.run=^$ -test.bench=Wrapped/meters/unary -test.benchtime=4000x
//
// for two lengths, whose difference is that of so many calls.
func BenchmarkWrapped(b *testing.B) {
	for _, w := range []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"exact", asIs},
		{"embeds", func(c net.Conn) net.Conn { return embedding{c} }},
		{"meters", func(c net.Conn) net.Conn { return &metering{Conn: c} }},
	} {
		b.Run(w.name, func(b *testing.B) {
			cc, _ := wrappedPair(b, newEcho(), w.wrap, w.wrap)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
			if err != nil {
				b.Fatal(err)
			}
			in, out := &text{Value: "hello"}, new(text)
			for name, exchange := range map[string]func() error{
				"unary": func() error { return cc.Invoke(ctx, unaryMethod, in, out) },
				"stream": func() error {
					if err := st.SendMsg(in); err != nil {
						return err
					}
					return st.RecvMsg(out)
				},
			} {
				b.Run(name, func(b *testing.B) {
					for i := range 100 {
						if err := exchange(); err != nil {
							b.Fatal(err)
						}
						for tick := time.Tick(10 * time.Millisecond); i == 0 && footprint.Read().Parked < 2; {
							<-tick
						}
					}
					b.ReportAllocs()
					for b.Loop() {
						if err := exchange(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run("parallel", func(b *testing.B) {
				b.SetParallelism(32)
				b.RunParallel(func(pb *testing.PB) {
					in, out := &text{Value: "hello"}, new(text)
					for pb.Next() {
						if err := cc.Invoke(ctx, unaryMethod, in, out); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		})
	}
}
