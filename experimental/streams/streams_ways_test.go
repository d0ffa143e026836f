// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/experimental/streams"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

func plain() credentials.TransportCredentials { return insecure.NewCredentials() }

func clientOf(cc *grpc.ClientConn) testpb.TestServiceClient { return testpb.NewTestServiceClient(cc) }

// overHTTP is a client of s, a grpc.Server or what stands before one, behind net/http.
func overHTTP(t *testing.T, s http.Handler) *grpc.ClientConn {
	web := httptest.NewUnstartedServer(s)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(web.Close)
	cc, err := grpc.NewClient("passthrough:///"+web.Listener.Addr().String(), grpc.WithTransportCredentials(plain()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

func overBufconn(t *testing.T, s *grpc.Server) *grpc.ClientConn {
	lis := bufconn.Listen(1 << 16)
	go func() { _ = s.Serve(lis) }()
	cc, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(plain()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

// Hand-over behind net/http and over bufconn, compressed, with more than the windows let
// through at once, and with either end.
func TestOtherWays(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *grpc.Server) *grpc.ClientConn{"ServeHTTP": func(t *testing.T, s *grpc.Server) *grpc.ClientConn { return overHTTP(t, s) }, "bufconn": overBufconn} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			s := grpc.NewServer()
			testpb.RegisterTestServiceServer(s, &service{duplex: handOver(echoing(done), &streams.Options{Queue: 1000})})
			t.Cleanup(s.Stop)
			client := clientOf(connect(t, s))
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()

			st, err := client.FullDuplexCall(ctx, grpc.UseCompressor(gzip.Name))
			if err != nil {
				t.Fatal(err)
			}
			const n = 30
			sent := make(chan error, 1)
			go func() {
				defer close(sent)
				for range n {
					if err := st.Send(ask(strings.Repeat("x", 50_000))); err != nil {
						sent <- err
						return
					}
				}
				_ = st.CloseSend()
			}()
			for i := range n {
				m, err := st.Recv()
				if err != nil || len(text(m)) != 50_000 {
					t.Fatalf("message %d: %d bytes, %v", i, len(text(m)), err)
				}
			}
			if err := await(t, sent, "the end of sending"); err != nil {
				t.Error(err)
			}
			if _, err := st.Recv(); !errors.Is(err, io.EOF) {
				t.Errorf("the end is %v", err)
			}
			if err := await(t, done, "OnDone"); err != nil {
				t.Error(err)
			}

			again, stop := context.WithCancel(ctx)
			if st, err = client.FullDuplexCall(again); err != nil {
				t.Fatal(err)
			}
			if err := st.Send(ask("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Recv(); err != nil {
				t.Fatal(err)
			}
			stop()
			if err := await(t, done, "OnDone"); status.Code(err) != codes.Canceled {
				t.Errorf("OnDone after a cancellation: %v", err)
			}
		})
	}
}

// faultyWriter is the ResponseWriter of a middleware that panics once it is told to.
type faultyWriter struct {
	http.ResponseWriter
	faulty *atomic.Bool
}

func (w faultyWriter) Header() http.Header {
	if w.faulty.Load() {
		panic("of the middleware")
	}
	return w.ResponseWriter.Header()
}

func (w faultyWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// TestResponseWriterPanics: behind net/http, a middleware that panics at the end of a stream that was handed over ends
// the RPC, as net/http recovers; nobody waits for ever.
func TestResponseWriterPanics(t *testing.T) {
	var faulty atomic.Bool
	done := make(chan error, 1)
	s := grpc.NewServer()
	testpb.RegisterTestServiceServer(s, &service{duplex: handOver(echoing(done), nil)})
	t.Cleanup(s.Stop)
	left := make(chan any, 1)
	client := clientOf(overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- recover(); panic(http.ErrAbortHandler) }()
		s.ServeHTTP(faultyWriter{w, &faulty}, r)
	})))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Send(ask("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err != nil {
		t.Fatal(err)
	}
	faulty.Store(true)
	_ = st.CloseSend()
	if p := await(t, left, "the end of the request"); p != "of the middleware" {
		t.Errorf("the request's goroutine is left by %v", p)
	}
	if _, err := st.Recv(); err == nil || errors.Is(err, io.EOF) || status.Code(err) == codes.DeadlineExceeded {
		t.Errorf("the client is told %v", err)
	}
}
