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

// BenchmarkWrapped makes calls through wrapped connections, once it is known of these how they
// can be read. Instructions are counted with
//
//	go test -c . && valgrind --tool=callgrind ./grpc.test -test.run=^$ -test.bench=Wrapped/meter -test.benchtime=4000x
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
			in, out := &text{Value: "hello"}, new(text)
			invoke := func() {
				if err := cc.Invoke(ctx, unaryMethod, in, out); err != nil {
					b.Fatal(err)
				}
			}
			invoke()
			for tick := time.Tick(10 * time.Millisecond); footprint.Read().Parked < 2; {
				<-tick
			}
			for range 100 {
				invoke()
			}
			b.ReportAllocs()
			for b.Loop() {
				invoke()
			}
		})
	}
}
