// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

func TestServerStreamEcho(t *testing.T) {
	c := connect(t, serve(t, newEcho()))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	for _, m := range []string{"a", "", strings.Repeat("long", 100_000), "b"} {
		r.send(m)
		if got, ok := r.recv(); !ok || got != m {
			t.Fatalf("got %d bytes, %v", len(got), ok)
		}
	}
	r.closeSend()
	r.wantEnd(codes.OK, "")
}

func TestServerStreamMetadata(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		if err := ss.SetHeader(metadata.Pairs("x-h", "1")); err != nil {
			t.Error(err)
		}
		if err := ss.SendHeader(metadata.Pairs("x-h", "2")); err != nil {
			t.Error(err)
		}
		if err := ss.SendHeader(nil); err == nil {
			t.Error("a second SendHeader: no error")
		}
		ss.SetTrailer(metadata.Pairs("x-t", "1"))
		ss.SetTrailer(metadata.Pairs("X-T", "2"))
		return status.Error(codes.Aborted, "enough")
	}
	c := connect(t, serve(t, e))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	if got := r.Header().Get("x-h"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("x-h = %v", got)
	}
	r.wantEnd(codes.Aborted, "enough")
	if got := r.Trailer().Get("x-t"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("x-t = %v", got)
	}
}

// TestServerStreamRefusesMetadata has a handler go on after a setter has refused what it was
// given, as programs do that don't look.
func TestServerStreamRefusesMetadata(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		for _, set := range []func(metadata.MD) error{ss.SetHeader, ss.SendHeader} {
			for _, md := range []metadata.MD{{"a b": {"1"}}, {"k": {"a\nb"}}} {
				wantCode(t, "a setter", set(md), codes.Internal, "header key")
			}
		}
		return ss.SetHeader(metadata.Pairs("k", "v"))
	}
	c := connect(t, serve(t, e))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	r.wantEnd(codes.OK, "")
	if got := r.Header().Get("k"); !slices.Equal(got, []string{"v"}) {
		t.Errorf("header %v", r.Header())
	}
}

func TestServerStreamHeaderOnly(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error { return ss.SetHeader(metadata.Pairs("x-h", "1")) }
	c := connect(t, serve(t, e))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	r.wantEnd(codes.OK, "")
	if got := r.Header().Get("x-h"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("x-h = %v", got)
	}
}

func TestServerStreamCanceled(t *testing.T) {
	began, errs := make(chan struct{}), make(chan error, 2)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		close(began)
		errs <- ss.RecvMsg(new(text))
		<-ss.Context().Done()
		errs <- ss.SendMsg(new(text))
		return ss.Context().Err()
	}
	c := connect(t, serve(t, e))
	ctx, cancel := context.WithCancel(context.Background())
	r := c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
	within(t, began, "the handler")
	cancel()
	r.wantEnd(codes.Canceled, "")
	for range 2 {
		if err := within(t, errs, "the handler's error"); status.Code(err) != codes.Canceled {
			t.Errorf("the handler got %v", err)
		}
	}
}

func TestServerStreamDeadline(t *testing.T) {
	errs := make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		if _, ok := ss.Context().Deadline(); !ok {
			t.Error("no deadline")
		}
		err := ss.RecvMsg(new(text))
		errs <- err
		return err
	}
	c := connect(t, serve(t, e))
	// Long enough for the handler to begin, on a busy machine, too.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r := c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
	r.wantEnd(codes.DeadlineExceeded, "")
	// The client resets the stream at its deadline, which may be known here before the
	// server's passes.
	err := within(t, errs, "the handler's error")
	if c := status.Code(err); c != codes.DeadlineExceeded && c != codes.Canceled {
		t.Errorf("the handler got %v", err)
	}
}

// A context that derives from a stream's must end with it, without a goroutine of
// its own.
func TestServerStreamDerivedContext(t *testing.T) {
	done := make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		ctx, cancel := context.WithCancelCause(ss.Context())
		context.AfterFunc(ctx, func() { done <- context.Cause(ctx); cancel(nil) })
		return nil
	}
	c := connect(t, serve(t, e))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	r.wantEnd(codes.OK, "")
	if err := within(t, done, "the derived context's end"); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestNameOfContext: mocks of programs match the context of a handler by it.
func TestNameOfContext(t *testing.T) {
	const want = "*context.valueCtx"
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		if got := fmt.Sprintf("%T", ctx); got != want {
			t.Errorf("unary: %s", got)
		}
		return m, nil
	}
	e.stream = func(ss ServerStream) error {
		if got := fmt.Sprintf("%T", ss.Context()); got != want {
			t.Errorf("stream: %s", got)
		}
		return nil
	}
	c := connect(t, serve(t, e))
	c.unary(t.Context(), "x").want(t, "x")
	c.open(t.Context(), transport.Call{Method: "/test.Echo/Bidi"}).wantEnd(codes.OK, "")
}

// brokenCompressor compresses nothing.
type brokenCompressor struct{}

func (brokenCompressor) Do(io.Writer, []byte) error { return errors.New("out of order") }
func (brokenCompressor) Type() string               { return "broken" }

// TestServerStreamFails has messages fail on the server: the client is told at once, and
// what the handler makes of it does not count.
func TestServerStreamFails(t *testing.T) {
	send := func(msg any) func(ServerStream) error {
		return func(ss ServerStream) error { return ss.SendMsg(msg) }
	}
	receive := func(ss ServerStream) error { return ss.RecvMsg(new(text)) }
	for _, tt := range []struct {
		what   string
		opt    ServerOption
		method string
		send   []string // as on the wire
		do     func(ServerStream) error
		want   codes.Code
		text   string
	}{
		{"sent message too large", MaxSendMsgSize(99), "Bidi", nil, send(&text{Value: strings.Repeat("x", 100)}), codes.ResourceExhausted, "larger than max (102 vs. 99)"},
		{"no message", EmptyServerOption{}, "Bidi", nil, send("no message"), codes.Internal, "error while marshaling"},
		{"not prepared", EmptyServerOption{}, "Bidi", nil, send(new(PreparedMsg)), codes.Internal, "without Encode"},
		{"not compressed", RPCCompressor(brokenCompressor{}), "Bidi", nil, send(&text{Value: "x"}), codes.Internal, "out of order"},
		{"received message too large", MaxRecvMsgSize(4), "Bidi", []string{"\x0a\x0512345"}, receive, codes.ResourceExhausted, "larger than max"},
		{"not decoded", EmptyServerOption{}, "Bidi", []string{"\xff\xff"}, receive, codes.Internal, "failed to unmarshal"},
		{"two requests", EmptyServerOption{}, "Down", []string{"\x0a\x011", "\x0a\x012"}, receive, codes.Internal, "multiple request messages"},
		{"no request", EmptyServerOption{}, "Down", nil, receive, codes.Internal, "no request message"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			seen, results := make(chan struct{}), make(chan error, 1)
			e := newEcho()
			e.stream = func(ss ServerStream) error {
				results <- tt.do(ss)
				<-seen
				ss.SetTrailer(metadata.Pairs("x-late", "1"))
				if err := SetTrailer(ss.Context(), metadata.Pairs("x-late", "2")); err != nil {
					t.Errorf("SetTrailer: %v", err)
				}
				if err := ss.SendMsg(new(text)); err == nil {
					t.Error("SendMsg after the end: no error")
				}
				return nil
			}
			watch := newRecorder()
			for _, opt := range []ServerOption{EmptyServerOption{}, StatsHandler(watch)} {
				c := connect(t, serve(t, e, tt.opt, opt))
				r := c.open(context.Background(), transport.Call{Method: "/test.Echo/" + tt.method})
				for _, m := range tt.send {
					p := transport.Payload{Data: transport.OnePiece(mem.SliceBuffer(m))}
					if err := r.Send(p, false); err != nil {
						t.Fatal(err)
					}
				}
				r.closeSend()
				st := r.end()
				if st.Code() != tt.want || !strings.Contains(st.Message(), tt.text) {
					t.Errorf("the client got %v, want %v with %q", st, tt.want, tt.text)
				}
				wantCode(t, "the handler got", within(t, results, "the handler's error"), tt.want, tt.text)
				seen <- struct{}{}
				if opt == ServerOption(EmptyServerOption{}) {
					continue
				}
				told := within(t, watch.ended, "stats.End")
				if err := told[len(told)-1].(*stats.End).Error; err != nil {
					t.Errorf("stats.End: %v, but the handler returned nil", err)
				}
			}
		})
	}
}

func TestServerStreamCompression(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		if err := SetSendCompressor(ss.Context(), "gzip"); err != nil {
			t.Error(err)
		}
		if err := ss.SendMsg(&text{Value: "1"}); err != nil {
			return err
		}
		if err := SetSendCompressor(ss.Context(), "identity"); err == nil {
			t.Error("SetSendCompressor after a message: no error")
		}
		return ss.SendMsg(&text{Value: "2"})
	}
	c := connect(t, serve(t, e))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi", AcceptCompressors: "gzip"})
	for _, want := range []string{"1", "2"} {
		if got, ok := r.recv(); !ok || got != want {
			t.Errorf("got %q, %v", got, ok)
		}
	}
	if r.RecvCompress() != "gzip" {
		t.Errorf("grpc-encoding = %q", r.RecvCompress())
	}
	r.wantEnd(codes.OK, "")
}

// wrappedStream is what an interceptor may put around a stream.
type wrappedStream struct {
	ServerStream
	ctx context.Context
}

func (w *wrappedStream) Context() context.Context { return w.ctx }

func TestServerPreparedMsg(t *testing.T) {
	type key struct{}
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		var p PreparedMsg
		if err := p.Encode(ss, "no message"); status.Code(err) != codes.Internal {
			t.Errorf("Encode of a string: %v", err)
		}
		if err := p.Encode(ss, &text{Value: "prepared"}); err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := ss.SendMsg(&p); err != nil {
				return err
			}
		}
		return nil
	}
	wrap := func(srv any, ss ServerStream, _ *StreamServerInfo, h StreamHandler) error {
		return h(srv, &wrappedStream{ss, context.WithValue(ss.Context(), key{}, 1)})
	}
	c := connect(t, serve(t, e, StreamInterceptor(wrap)))
	for _, encoding := range []string{"", "gzip"} {
		r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi", SendCompressor: encoding})
		for range 3 {
			if got, ok := r.recv(); !ok || got != "prepared" {
				t.Errorf("got %q, %v", got, ok)
			}
		}
		r.wantEnd(codes.OK, "")
		if r.RecvCompress() != encoding {
			t.Errorf("grpc-encoding = %q, want %q", r.RecvCompress(), encoding)
		}
	}
	var p PreparedMsg
	if err := p.Encode(&wrappedStream{ctx: context.Background()}, new(text)); status.Code(err) != codes.Internal {
		t.Errorf("Encode for no RPC: %v", err)
	}
}

func TestGenericServerStream(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		x := &GenericServerStream[text, text]{ServerStream: ss}
		n := 0
		for {
			m, err := x.Recv()
			if errors.Is(err, io.EOF) {
				return x.SendAndClose(&text{Value: strings.Repeat("m", n)})
			}
			if err != nil {
				return err
			}
			n++
			if err := x.Send(m); err != nil {
				return err
			}
		}
	}
	c := connect(t, serve(t, e))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	for _, m := range []string{"1", "2"} {
		r.send(m)
		if got, ok := r.recv(); !ok || got != m {
			t.Errorf("got %q, %v", got, ok)
		}
	}
	r.closeSend()
	if got, ok := r.recv(); !ok || got != "mm" {
		t.Errorf("got %q, %v", got, ok)
	}
	r.wantEnd(codes.OK, "")
}
