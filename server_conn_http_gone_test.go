// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestServeHTTPClientGone: what a handler is told whose client has gone, or whose deadline has
// passed. INTERNAL would be logged and counted as a fault of the server.
func TestServeHTTPClientGone(t *testing.T) {
	send := func(ss ServerStream) error { return ss.SendMsg(new(text)) }
	header := func(ss ServerStream) error { return ss.SendHeader(metadata.Pairs("a", "b")) }
	recv := func(ss ServerStream) error { return ss.RecvMsg(new(text)) }
	await := func(ss ServerStream) error { <-ss.Context().Done(); return nil }
	for _, tt := range []struct {
		name  string
		first func(ServerStream) error
		then  func(ServerStream) error
		gone  codes.Code
		late  codes.Code
	}{
		{"Send", await, send, codes.Unavailable, codes.DeadlineExceeded},
		{"Send after Recv", recv, send, codes.Unavailable, codes.DeadlineExceeded},
		{"Send after Send", func(ss ServerStream) error { return errors.Join(await(ss), send(ss)) }, send, codes.Unavailable, codes.DeadlineExceeded},
		{"SendHeader", await, header, codes.Unavailable, codes.OK},
		{"Recv", await, recv, codes.Canceled, codes.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := make(chan error, 1)
			began := make(chan struct{}, 1)
			e := newEcho()
			e.stream = func(ss ServerStream) error {
				began <- struct{}{}
				_ = tt.first(ss)
				err := tt.then(ss)
				said <- err
				return err
			}
			ts := serveHTTP(t, e)
			ctx, cancel := context.WithCancel(t.Context())
			client := connect(t, ts).open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
			within(t, began, "the handler")
			cancel()
			client.wantEnd(codes.Canceled, "")
			if err := within(t, said, "the handler's end"); status.Code(err) != tt.gone {
				t.Errorf("the client has gone: %v, want %v", err, tt.gone)
			}
			r := grpcRequest()
			r.URL.Path = "/test.Echo/Bidi"
			r.Header.Set("Grpc-Timeout", "1m")
			r.Body = io.NopCloser(blockedReader{t.Context()})
			ts.ServeHTTP(httptest.NewRecorder(), r)
			if err := within(t, said, "the handler's end"); status.Code(err) != tt.late {
				t.Errorf("the deadline has passed: %v, want %v", err, tt.late)
			}
		})
	}
}

// TestServeHTTPEndedEarly: the context of an RPC that ends while its handler runs ends with it. The handler
// may wait for nothing else, and net/http sends the status only when it returns.
func TestServeHTTPEndedEarly(t *testing.T) {
	for name, opts := range map[string][]ServerOption{"plain": nil, "stats": {StatsHandler(&eventNames{})}} {
		t.Run(name, func(t *testing.T) {
			handled := make(chan error, 1)
			e := newEcho()
			e.stream = func(ss ServerStream) error {
				received := make(chan error, 1)
				go func() { received <- ss.RecvMsg(new(text)) }()
				<-ss.Context().Done()
				handled <- <-received
				return ss.Context().Err()
			}
			client := connect(t, serveHTTP(t, e, append(opts, MaxRecvMsgSize(10))...)).
				open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"})
			client.send(strings.Repeat("x", 20))
			wantCode(t, "RecvMsg", within(t, handled, "the end of the context"), codes.ResourceExhausted)
			client.wantEnd(codes.ResourceExhausted, "")
		})
	}
}

// blockedReader is a body of which nothing comes while ctx lasts.
type blockedReader struct{ ctx context.Context }

func (r blockedReader) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

// TestServeHTTPBrokenBody: the code of a request whose body breaks off, wherever it does.
func TestServeHTTPBrokenBody(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want codes.Code
	}{
		{io.ErrUnexpectedEOF, codes.Internal},
		{http2.StreamError{StreamID: 1, Code: http2.ErrCodeCancel}, codes.Canceled},
		{http2.StreamError{StreamID: 1, Code: http2.ErrCodeInternal}, codes.Internal},
		{http2.StreamError{StreamID: 1, Code: http2.ErrCodeEnhanceYourCalm}, codes.ResourceExhausted},
		{errors.New("broken"), codes.Unavailable},
		{os.ErrDeadlineExceeded, codes.Unavailable},
	} {
		for _, body := range []string{"", "\x00\x00", "\x00\x00\x00\x00\x05", "\x00\x00\x00\x00\x05a"} {
			said := make(chan error, 1)
			e := newEcho()
			e.stream = func(ss ServerStream) error {
				err := ss.RecvMsg(new(text))
				said <- err
				return err
			}
			s := NewServer()
			s.RegisterService(&echoDesc, e)
			r := grpcRequest()
			r.URL.Path = "/test.Echo/Bidi"
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), failingReader{tt.err}))
			s.ServeHTTP(httptest.NewRecorder(), r)
			if err := <-said; status.Code(err) != tt.want || status.Convert(err).Message() != tt.err.Error() {
				t.Errorf("%q, then %v: %v, want %v", body, tt.err, err, tt.want)
			}
			s.Stop()
		}
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestServeHTTPStalledWrite: a Write that waits for the client's windows at the deadline is left
// to the client's reset for a while, as net/http can only end it with INTERNAL_ERROR.
func TestServeHTTPStalledWrite(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reset time.Duration // after the deadline; 0: the client never does
		want  time.Duration // when the handler's Send returns
		cut   bool
	}{
		{"the client resets", 300 * time.Millisecond, 300 * time.Millisecond, false},
		{"the client does not", 0, time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEcho()
				var took time.Duration
				var said error
				w := &stalledWriter{wrapped: wrapped{header: http.Header{}}, over: make(chan struct{})}
				e.stream = func(ss ServerStream) error {
					begun := time.Now()
					said = ss.SendMsg(&text{Value: "m"})
					took = time.Since(begun)
					return said
				}
				s := NewServer()
				s.RegisterService(&echoDesc, e)
				r := grpcRequest()
				r.URL.Path = "/test.Echo/Bidi"
				r.Header.Set("Grpc-Timeout", "5S")
				if tt.reset > 0 {
					time.AfterFunc(5*time.Second+tt.reset, w.end)
				}
				s.ServeHTTP(w, r)
				if took != 5*time.Second+tt.want || status.Code(said) != codes.DeadlineExceeded || w.cut != tt.cut {
					t.Errorf("Send returned after %v: %v; cut: %v", took, said, w.cut)
				}
				s.Stop()
				time.Sleep(time.Minute)
				if w.cut != tt.cut {
					t.Error("the response was used after its end")
				}
			})
		})
	}
}

// TestServeHTTPWhileSending: what sets headers and trailers does not wait for a Write that waits for the client's windows.
func TestServeHTTPWhileSending(t *testing.T) {
	w := &stalledWriter{wrapped: wrapped{header: http.Header{}}, began: make(chan struct{}), over: make(chan struct{})}
	said := make(chan []error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		go ss.SendMsg(&text{Value: "m"})
		<-w.began
		md := metadata.Pairs("a", "b")
		ss.SetTrailer(md)
		said <- []error{ss.SetHeader(md), ss.SendHeader(nil), SetSendCompressor(ss.Context(), "identity")}
		return errors.New("enough")
	}
	s := NewServer()
	s.RegisterService(&echoDesc, e)
	r := grpcRequest()
	r.URL.Path = "/test.Echo/Bidi"
	done := make(chan struct{})
	go func() {
		s.ServeHTTP(w, r)
		close(done)
	}()
	for i, err := range within(t, said, "what the handler is told") {
		if err == nil {
			t.Errorf("%d succeeds, though the headers are sent", i)
		}
	}
	w.end()
	within(t, done, "the end")
	if got := w.header.Get(http.TrailerPrefix + "a"); got != "b" {
		t.Errorf("the trailer is %q", got)
	}
	s.Stop()
}

// stalledWriter is a ResponseWriter whose client opens no window.
type stalledWriter struct {
	wrapped
	began chan struct{} // closed by the first Write; nil: nobody wants to know
	over  chan struct{}
	cut   bool
}

func (w *stalledWriter) end() { close(w.over) }

func (w *stalledWriter) Write([]byte) (int, error) {
	if w.began != nil {
		close(w.began)
	}
	<-w.over
	return 0, errors.New("stream closed")
}

func (w *stalledWriter) SetWriteDeadline(time.Time) error {
	w.cut = true
	w.end()
	return nil
}
