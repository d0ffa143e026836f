// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// headerWatch is a stats handler that tells when response headers are there.
type headerWatch struct {
	stats.Handler
	once sync.Once
	got  chan struct{}
}

func (*headerWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (w *headerWatch) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.InHeader); ok {
		w.once.Do(func() { close(w.got) })
	}
}

func (*headerWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*headerWatch) HandleConn(context.Context, stats.ConnStats)                       {}

// TestHeadersAreToldWhenTheyCome has a server send its message only when the client's stats
// handler has been told of the headers.
func TestHeadersAreToldWhenTheyCome(t *testing.T) {
	for name, do := range map[string]func(*testing.T, *ClientConn, *headerWatch) error{
		"unary": func(t *testing.T, cc *ClientConn, _ *headerWatch) error { return call(testContext(t), cc, "") },
		"stream": func(t *testing.T, cc *ClientConn, _ *headerWatch) error {
			s, err := cc.NewStream(testContext(t), &StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Bidi")
			if err != nil {
				return err
			}
			return s.RecvMsg(new(text))
		},
		"stream that sends": func(t *testing.T, cc *ClientConn, watch *headerWatch) error {
			s, err := cc.NewStream(testContext(t), &StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Bidi")
			if err != nil {
				return err
			}
			for {
				select {
				case <-watch.got:
					return s.RecvMsg(new(text))
				default:
					_ = s.SendMsg(new(text))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			watch := &headerWatch{got: make(chan struct{})}
			addr := newHTTPServer(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Trailer", "Grpc-Status")
				w.(http.Flusher).Flush()
				select {
				case <-watch.got:
				case <-r.Context().Done():
					return
				}
				_, _ = w.Write(make([]byte, 5))
				w.Header().Set("Grpc-Status", "0")
			})
			if err := do(t, newTestClient(t, addr, WithStatsHandler(watch)), watch); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// slowWatch is a stats handler that takes its time with the response headers.
type slowWatch struct {
	stats.Handler
	headers chan struct{} // closed when it begins with them

	mu     sync.Mutex
	events []string
}

func (*slowWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (w *slowWatch) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.InHeader); ok {
		close(w.headers)
		for range 10000 {
			runtime.Gosched()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf("%T", s))
}

func (*slowWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*slowWatch) HandleConn(context.Context, stats.ConnStats)                       {}

// TestHeadersAreToldFirst has one goroutine receive while another, which has called Header, has a stats handler told of
// the response headers: what is received is told after these.
func TestHeadersAreToldFirst(t *testing.T) {
	watch := &slowWatch{headers: make(chan struct{})}
	cc := newTestClient(t, serve(t, newEcho()).addr, WithStatsHandler(watch))
	s, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SendMsg(&text{Value: "x"}), s.CloseSend()); err != nil {
		t.Fatal(err)
	}
	go s.Header()
	<-watch.headers
	for err == nil {
		err = s.RecvMsg(new(text))
	}
	watch.mu.Lock()
	defer watch.mu.Unlock()
	n := len(watch.events)
	if want := []string{"*stats.InHeader", "*stats.InPayload", "*stats.InTrailer", "*stats.End"}; n < 4 || !slices.Equal(watch.events[n-4:], want) {
		t.Errorf("told %v, want %v at the end", watch.events, want)
	}
}

// TestHedgedReplyThatIsNone has a server send what is no message, and nothing after: an RPC
// that is hedged does not wait for more, as others do not.
func TestHedgedReplyThatIsNone(t *testing.T) {
	addr := newHTTPServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write([]byte("\x00\x00\x00\x00\x02\xff\xff"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	const config = `{"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":2,"hedgingDelay":"60s"}}]}`
	cc := newTestClient(t, addr, WithDefaultServiceConfig(config))
	if err := call(testContext(t), cc, "x"); status.Code(err) != codes.Internal {
		t.Error(err)
	}
}
