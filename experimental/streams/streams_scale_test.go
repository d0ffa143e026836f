// SPDX-License-Identifier: Apache-2.0

//go:build unix

package streams_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/experimental/streams"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// More than by default: go test -run TestWokenAtRandom -v -args -streams 100000 -conns 1000
var (
	manyStreams = flag.Int("streams", 4000, "how many streams are open")
	manyConns   = flag.Int("conns", 40, "over how many connections")
)

// classic is a hub as it is written without this package: a goroutine for each watcher.
type classic struct {
	added chan chan *response
}

func (c *classic) watch(_ *request, st downwards) error {
	news := make(chan *response, 16)
	c.added <- news
	for {
		select {
		case m := <-news:
			if err := st.Send(m); err != nil {
				return err
			}
		case <-st.Context().Done():
			return st.Context().Err()
		}
	}
}

// audience is the clients of a hub, over several connections: what they receive goes to heard.
type audience struct {
	rig   *rig
	calls *listenerCalls
}

func newAudience(r *rig, heard func(*response)) *audience {
	return &audience{r, &listenerCalls{OnMessage: func(_ *listener, m *response) { heard(m) }}}
}

// watch opens n streams over conns connections, on four goroutines; added is called once for each
// and waits for one of them to come to the hub.
func (a *audience) watch(tb testing.TB, n, conns int, added func(), opts ...grpc.CallOption) {
	tb.Helper()
	var next atomic.Int32
	var opening sync.WaitGroup
	for range 4 {
		opening.Go(func() {
			for c := int(next.Add(1)) - 1; c < conns; c = int(next.Add(1)) - 1 {
				if err := a.connect(tb, n*(c+1)/conns-n*c/conns, opts); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	for range n {
		added()
	}
	opening.Wait()
}

// connect opens n streams on a connection of their own.
func (a *audience) connect(tb testing.TB, n int, opts []grpc.CallOption) error {
	cc, err := grpc.NewClient(a.rig.cc.Target(), grpc.WithTransportCredentials(plain()))
	if err != nil {
		return err
	}
	tb.Cleanup(func() { cc.Close() })
	for range n {
		if _, err := streams.OpenServerStreaming(a.calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[response], error) {
			return clientOf(cc).StreamingOutputCall(context.Background(), &request{}, append(opts[:len(opts):len(opts)], o)...)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Each of many streams is woken once, in a random order, by messages from either hub: none is
// lost, and those of one stream come in order.
func TestWokenAtRandom(t *testing.T) {
	n, conns := *manyStreams, *manyConns
	for _, kind := range []string{"handed over", "classic"} {
		t.Run(kind, func(t *testing.T) {
			var send []func(*response)
			old := &classic{added: make(chan chan *response, 1)}
			s := &service{down: old.watch}
			h := newHub()
			if kind == "handed over" {
				s.down = h.watch
			}
			var mu sync.Mutex
			at := make([]time.Time, n)
			took := make([]time.Duration, 0, n)
			next := make([]int, n)
			all := make(chan struct{})
			a := newAudience(newRig(t, s), func(m *response) {
				now := time.Now()
				var i, k int
				if _, err := fmt.Sscan(text(m), &i, &k); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if k != next[i] {
					t.Errorf("stream %d: message %d, want %d", i, k, next[i])
				}
				if next[i]++; next[i] == 2 {
					took = append(took, now.Sub(at[i]))
					if len(took) == n {
						close(all)
					}
				}
			})
			a.watch(t, n, conns, func() {
				if kind == "classic" {
					news := await(t, old.added, "a stream")
					send = append(send, func(m *response) { news <- m })
				} else {
					w := await(t, h.added, "a stream")
					send = append(send, func(m *response) { _ = w.Send(m) })
				}
			})
			message := func(i, k int) *response {
				return reply(fmt.Sprint(i, k))
			}
			for i := range n {
				send[i](message(i, 0))
			}
			for _, i := range rand.Perm(n) {
				mu.Lock()
				at[i] = time.Now()
				mu.Unlock()
				send[i](message(i, 1))
			}
			await(t, all, "the last message")
			slices.Sort(took)
			t.Logf("%d streams over %d connections: p50 %v, p99 %v, max %v", n, conns, took[n/2], took[n*99/100], took[n-1])
		})
	}
}

// cpu is the processor time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// One message of 1 KiB to many streams; both sides are in this process, and what the clients
// take is the same in all rows but for what waits for it.
func BenchmarkBroadcast(b *testing.B) {
	const n, conns = 10_000, 100
	payload := make([]byte, 1<<10)
	for i := range payload {
		payload[i] = "0123456789abcdef"[i*7%16]
	}
	m := &response{Payload: &testpb.Payload{Body: payload}}
	for _, row := range []struct {
		name string
		opts []grpc.CallOption
	}{{"plain", nil}, {"gzip", []grpc.CallOption{grpc.UseCompressor(gzip.Name)}}} {
		for _, kind := range []string{"group", "classic"} {
			b.Run(row.name+"/"+kind, func(b *testing.B) {
				old := &classic{added: make(chan chan *response, 1)}
				h := newHub()
				s := &service{down: old.watch}
				if kind == "group" {
					s.down = h.watch
				}
				var left atomic.Int32
				all := make(chan struct{}, 1)
				a := newAudience(newRig(b, s), func(*response) {
					if left.Add(-1) == 0 {
						all <- struct{}{}
					}
				})
				var group streams.Group[streams.None, response]
				var waiting []chan *response
				a.watch(b, n, conns, func() {
					if kind == "group" {
						group.Add(await(b, h.added, "a stream"))
					} else {
						waiting = append(waiting, await(b, old.added, "a stream"))
					}
				}, row.opts...)
				before := cpu()
				for b.Loop() {
					left.Store(n)
					if kind == "group" {
						if k := group.Send(m); k != n {
							b.Fatalf("%d streams took it", k)
						}
					} else {
						for _, news := range waiting {
							news <- m
						}
					}
					await(b, all, "the last message")
				}
				b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N)/n, "cpu-ns/stream")
			})
		}
	}
}
