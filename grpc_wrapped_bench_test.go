// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/internal/wrappers"
)

// embedding leaves all to what it embeds.
type embedding struct{ net.Conn }

// asIs wraps nothing.
func asIs(c net.Conn) net.Conn { return c }

// wrappedPair is a server and a client whose connections are wrapped.
func wrappedPair(t testing.TB, e *echo, accepted, dialed func(net.Conn) net.Conn, opts ...ServerOption) (*ClientConn, *Server) {
	t.Helper()
	ts := serveOn(t, wrappingListener{listen(t), accepted}, e, opts...)
	return newTestClient(t, "passthrough:///"+ts.addr, WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return dialed(c), nil
	})), ts.Server
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
		{"meters", wrappers.Meter},
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
