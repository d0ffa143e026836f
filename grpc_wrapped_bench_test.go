// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
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

// BenchmarkWrappedFirst makes the first 50 calls of new connections, wrapped at both ends in each kind of wrapper. The kinds
// take turns of ten connections, so that the processor's caches have learnt a kind's code, in another order each round. For each it prints the median of the first call (with connecting), of 50 calls, and
// of all calls but the first, and their p99, beside an exact socket's; "again" is an exact socket once more.
func BenchmarkWrappedFirst(b *testing.B) {
	kinds := wrappers.Kinds()
	again := kinds[0]
	again.Name = "again"
	kinds = slices.Insert(kinds, 1, again)
	took := make([]firstCalls, len(kinds))
	for b.Loop() {
		for _, i := range rand.Perm(len(kinds)) {
			for range 10 {
				took[i].measure(b, kinds[i])
			}
		}
	}
	exact := took[0].quantiles()
	var table strings.Builder
	for i, k := range kinds {
		fmt.Fprintf(&table, "\n%-40s", k.Name)
		for n, q := range took[i].quantiles() {
			fmt.Fprintf(&table, " %7.1f us %4.2f", q/float64(time.Microsecond), q/exact[n])
		}
	}
	fmt.Printf("%-40s %15s %15s %15s %15s%s\n", "kind", "first call", "50 calls", "p50", "p99", table.String())
}

// firstCalls is how long the first calls of connections took.
type firstCalls struct {
	first, all, later []time.Duration // the first calls, all 50 of a connection, the calls after the first
}

// measure connects through k, makes 50 calls, and closes all.
func (f *firstCalls) measure(b *testing.B, k wrappers.Kind) {
	cc, server := wrappedPair(b, newEcho(), k.Server, k.Client)
	defer server.Stop()
	defer cc.Close()
	cc.Connect()
	begin := time.Now()
	for n := range 50 {
		was := time.Now()
		if err := cc.Invoke(b.Context(), unaryMethod, &text{Value: "hello"}, new(text), WaitForReady(true)); err != nil {
			b.Fatal(k.Name, err)
		}
		if n == 0 {
			f.first = append(f.first, time.Since(was))
		} else {
			f.later = append(f.later, time.Since(was))
		}
	}
	f.all = append(f.all, time.Since(begin))
}

// quantiles returns the medians of the first call, of 50 calls, and of the later calls, and the p99 of these, in nanoseconds.
func (f *firstCalls) quantiles() [4]float64 {
	for _, d := range [][]time.Duration{f.first, f.all, f.later} {
		slices.Sort(d)
	}
	at := func(d []time.Duration, percent int) float64 { return float64(d[len(d)*percent/100]) }
	return [4]float64{at(f.first, 50), at(f.all, 50), at(f.later, 50), at(f.later, 99)}
}
