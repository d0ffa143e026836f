// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bufio"
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/wrappers"
)

// embedding leaves all to what it embeds.
type embedding struct{ net.Conn }

// asIs wraps nothing.
func asIs(c net.Conn) net.Conn { return c }

// wrappedPair is a server and a client whose connections are wrapped.
func wrappedPair(t testing.TB, e *echo, accepted, dialed func(net.Conn) net.Conn, opts ...ServerOption) (*ClientConn, *Server) {
	t.Helper()
	ts := serveOn(t, testutils.WrapListener{Listener: listen(t), Wrap: accepted}, e, opts...)
	return newTestClient(t, "passthrough:///"+ts.addr, WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return dialed(c), nil
	})), ts.Server
}

// timing sets a deadline for each Read, and takes it back.
type timing struct{ net.Conn }

func (t timing) Read(p []byte) (int, error) {
	_ = t.Conn.SetReadDeadline(time.Now().Add(time.Minute))
	defer t.Conn.SetReadDeadline(time.Time{})
	return t.Conn.Read(p)
}

// buffering takes more than it returns.
type buffering struct {
	net.Conn
	r *bufio.Reader
}

func (b buffering) Read(p []byte) (int, error) { return b.r.Read(p) }

func newBuffering(c net.Conn) net.Conn { return buffering{c, bufio.NewReader(c)} }

// BenchmarkWrapped makes calls, and exchanges messages of a stream, through wrapped connections. Instructions are counted with
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
		{"reads", newBuffering},
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
					for range 100 {
						if err := exchange(); err != nil {
							b.Fatal(err)
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

// BenchmarkWrappedFirst makes the first 50 calls of new connections, of which those of each kind take turns.
// The first has an exact socket.
func BenchmarkWrappedFirst(b *testing.B) {
	kinds := []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"exact", asIs},
		{"again", asIs},
		{"embeds", func(c net.Conn) net.Conn { return embedding{c} }},
		{"meters", wrappers.Meter},
		{"reads", newBuffering},
		{"times", func(c net.Conn) net.Conn { return timing{c} }},
	}
	const calls = 50
	first, all, each := make([]time.Duration, len(kinds)), make([]time.Duration, len(kinds)), make([][]time.Duration, len(kinds))
	for b.Loop() {
		for i, k := range kinds {
			cc, server := wrappedPair(b, newEcho(), k.wrap, k.wrap)
			cc.Connect()
			begin := time.Now()
			for n := range calls {
				was := time.Now()
				if err := cc.Invoke(b.Context(), unaryMethod, &text{Value: "hello"}, new(text), WaitForReady(true)); err != nil {
					b.Fatal(err)
				}
				took := time.Since(was)
				if n == 0 {
					first[i] += took
				}
				each[i] = append(each[i], took)
			}
			all[i] += time.Since(begin)
			cc.Close()
			server.Stop()
		}
	}
	for i, k := range kinds {
		slices.Sort(each[i])
		n := float64(b.N) * float64(time.Microsecond)
		b.ReportMetric(float64(first[i])/n, k.name+"-first-us")
		b.ReportMetric(float64(all[i])/n, k.name+"-all-us")
		b.ReportMetric(float64(each[i][len(each[i])*99/100])/float64(time.Microsecond), k.name+"-p99-us")
		b.ReportMetric(float64(each[i][len(each[i])/2])/float64(time.Microsecond), k.name+"-p50-us")
	}
}
