// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// serveHTTP starts a server behind net/http, over HTTP/2 without TLS.
func serveHTTP(t *testing.T, e *echo, opts ...ServerOption) *testServer {
	t.Helper()
	s := NewServer(opts...)
	s.RegisterService(&echoDesc, e)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: s, Protocols: new(http.Protocols)}
	web.Protocols.SetUnencryptedHTTP2(true)
	ts := &testServer{s, lis.Addr().String(), make(chan error, 1)}
	go func() { ts.served <- web.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		_ = web.Close()
		<-ts.served
	})
	return ts
}

// TestServeHTTPMalformedPath: a path without a method is nothing for the handler of unknown services, as it is not without net/http.
func TestServeHTTPMalformedPath(t *testing.T) {
	handle := UnknownServiceHandler(func(_ any, st ServerStream) error {
		name, _ := MethodFromServerStream(st)
		return status.Error(codes.OutOfRange, name)
	})
	for name, ts := range map[string]*testServer{"behind net/http": serveHTTP(t, newEcho(), handle), "alone": serve(t, newEcho(), handle)} {
		cc := newTestClient(t, ts.addr)
		for path, want := range map[string]codes.Code{"/foo": codes.Unimplemented, "/a/b": codes.OutOfRange, "/a/b/c": codes.OutOfRange} {
			err := cc.Invoke(testContext(t), path, &text{}, &text{})
			wantCode(t, name+" "+path, err, want)
			if want == codes.Unimplemented {
				wantCode(t, name, err, want, "malformed method name")
			}
		}
	}
}

func TestServeHTTPUnary(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		in, _ := metadata.FromIncomingContext(ctx)
		if got := in.Get("x-in"); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("x-in = %v", got)
		}
		if got := in.Get("x-bin"); !slices.Equal(got, []string{"\x00\xff"}) {
			t.Errorf("x-bin = %q", got)
		}
		if got := in.Get(":authority"); !slices.Equal(got, []string{"test.server"}) {
			t.Errorf(":authority = %q", got)
		}
		if p, ok := peer.FromContext(ctx); !ok || p.Addr == nil || p.LocalAddr == nil {
			t.Errorf("peer = %v", p)
		}
		if name, _ := Method(ctx); name != "/test.Echo/Unary" {
			t.Errorf("Method = %q", name)
		}
		if err := SetHeader(ctx, metadata.Pairs("x-h", "1", "x-bin", "\x01")); err != nil {
			t.Error(err)
		}
		if err := SetTrailer(ctx, metadata.Pairs("x-t", "1", "x-t", "2", "y-bin", "\x02")); err != nil {
			t.Error(err)
		}
		return m, nil
	}
	c := connect(t, serveHTTP(t, e))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-in", "1", "x-in", "2", "x-bin", "\x00\xff")
	for _, m := range []string{"", "x", strings.Repeat("long", 300_000)} {
		r := c.unary(ctx, m)
		r.want(t, m)
		if got := r.header.Get("x-h"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("x-h = %v", got)
		}
		if got := r.header.Get("x-bin"); !slices.Equal(got, []string{"\x01"}) {
			t.Errorf("x-bin = %q", got)
		}
		if got := r.trailer.Get("x-t"); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("x-t = %v", got)
		}
		if got := r.trailer.Get("y-bin"); !slices.Equal(got, []string{"\x02"}) {
			t.Errorf("y-bin = %q", got)
		}
	}
}

// TestServeHTTPDetailsOfHeaders: details in the metadata of the headers are not those of the status.
func TestServeHTTPDetailsOfHeaders(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		st, err := status.New(codes.Aborted, "other").WithDetails(&text{Value: "d"})
		if err != nil {
			t.Error(err)
		}
		b, err := proto.Marshal(st.Proto())
		if err != nil {
			t.Error(err)
		}
		if err := SetHeader(ctx, metadata.Pairs("grpc-status-details-bin", string(b))); err != nil {
			t.Error(err)
		}
		return nil, status.Error(codes.Aborted, "x")
	}
	r := connect(t, serveHTTP(t, e)).unary(context.Background(), "x")
	if r.wantStatus(t, codes.Aborted, "x"); len(r.status.Details()) != 0 {
		t.Errorf("details = %v", r.status.Details())
	}
}

func TestServeHTTPErrors(t *testing.T) {
	e := newEcho()
	e.unary = func(context.Context, *text) (*text, error) {
		st, err := status.New(codes.Aborted, "50 % off\n").WithDetails(&text{Value: "d"})
		if err != nil {
			t.Error(err)
		}
		return nil, st.Err()
	}
	c := connect(t, serveHTTP(t, e, MaxRecvMsgSize(100)))
	r := c.unary(context.Background(), "x")
	r.wantStatus(t, codes.Aborted, "50 % off\n")
	if len(r.status.Details()) != 1 {
		t.Errorf("details = %v", r.status.Details())
	}
	c.unary(context.Background(), strings.Repeat("x", 200)).wantStatus(t, codes.ResourceExhausted, "")
	c.unaryCall(context.Background(), transport.Call{Method: "/no/Body"}, payload(t, "", nil)).
		wantStatus(t, codes.Unimplemented, "unknown service no")
	short := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	short.closeSend()
	short.wantEnd(codes.Internal, "")
}

func TestServeHTTPStream(t *testing.T) {
	c := connect(t, serveHTTP(t, newEcho()))
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi", SendCompressor: "gzip"})
	for _, m := range []string{"a", "", "b"} {
		if err := r.Send(payload(t, m, encoding.GetCompressor("gzip")), false); err != nil {
			t.Fatal(err)
		}
		if got, ok := r.recv(); !ok || got != m {
			t.Fatalf("got %q, %v", got, ok)
		}
	}
	if r.RecvCompress() != "gzip" {
		t.Errorf("grpc-encoding = %q", r.RecvCompress())
	}
	r.closeSend()
	r.wantEnd(codes.OK, "")
}

func TestServeHTTPDeadlineAndCancel(t *testing.T) {
	errs := make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		err := ss.SendHeader(nil)
		if err == nil {
			err = ss.RecvMsg(new(text))
		}
		<-ss.Context().Done()
		errs <- err
		return err
	}
	c := connect(t, serveHTTP(t, e))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // long enough for the handler to begin
	defer cancel()
	c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"}).wantEnd(codes.DeadlineExceeded, "")
	// Whether the server's own timer or the client's reset comes first is open.
	if got := status.Code(within(t, errs, "the handler's error")); got != codes.DeadlineExceeded && got != codes.Canceled {
		t.Errorf("the handler got %v", got)
	}
	ctx, cancel = context.WithCancel(context.Background())
	r := c.open(ctx, transport.Call{Method: "/test.Echo/Bidi"})
	r.Header()
	cancel()
	r.wantEnd(codes.Canceled, "")
	if got := status.Code(within(t, errs, "the handler's error")); got != codes.Canceled {
		t.Errorf("the handler got %v", got)
	}
}

func TestServeHTTPStop(t *testing.T) {
	e, b := newBlocked()
	ts := serveHTTP(t, e)
	c := connect(t, ts)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	r.send("x")
	r.closeSend()
	ctx := within(t, b.began, "the handler")
	stopped := make(chan struct{})
	go func() { ts.GracefulStop(); close(stopped) }()
	ts.Stop()
	within(t, ctx.Done(), "the handler's context")
	close(b.released)
	within(t, stopped, "GracefulStop")
	r.wantEnd(codes.Canceled, "") // the reply was not sent: its context had ended
	c.unary(context.Background(), "late").wantStatus(t, codes.Unavailable, "")
}

// A handler that waits for the client's windows must be able to end.
func TestServeHTTPStopWhileSending(t *testing.T) {
	ended := make(chan error, 1)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		m := &text{Value: strings.Repeat("x", 1<<20)}
		for {
			if err := ss.SendMsg(m); err != nil {
				ended <- err
				return err
			}
		}
	}
	ts := serveHTTP(t, e)
	c := connect(t, ts)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Bidi"})
	r.Header() // nobody reads the messages
	ts.Stop()
	if err := within(t, ended, "the handler's end"); status.Code(err) != codes.Canceled {
		t.Errorf("SendMsg: %v", err)
	}
}

func TestServeHTTPStats(t *testing.T) {
	rec := newRecorder()
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, &net.TCPAddr{})
	s := NewServer(StatsHandler(rec))
	s.RegisterService(&echoDesc, newEcho())
	w := httptest.NewRecorder()
	s.ServeHTTP(w, grpcRequest().WithContext(ctx))
	if got := w.Result().Trailer.Get("grpc-status"); got != "0" {
		t.Errorf("grpc-status = %q", got)
	}
	events := within(t, rec.ended, "End")
	if got, want := names(events), "InHeader Begin InPayload OutHeader OutPayload OutTrailer End"; got != want {
		t.Errorf("events = %s, want %s", got, want)
	}
	for _, want := range []stats.ConnStats{&stats.ConnBegin{}, &stats.ConnEnd{}} { // each call is a connection
		if got := within(t, rec.conns, "the connection"); reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("%T, want %T", got, want)
		}
	}
	for _, w := range rec.wrongly {
		t.Error(w)
	}
}

// grpcRequest is a request that a server answers.
func grpcRequest() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/test.Echo/Unary", bytes.NewReader([]byte{0, 0, 0, 0, 0}))
	r.ProtoMajor, r.ProtoMinor = 2, 0
	r.Header.Set("Content-Type", "application/grpc")
	return r
}

func TestServeHTTPNoCalls(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*http.Request)
		code   int
	}{
		"HTTP/1.1":     {func(r *http.Request) { r.ProtoMajor = 1 }, http.StatusHTTPVersionNotSupported},
		"GET":          {func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		"content type": {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType},
		"timeout":      {func(r *http.Request) { r.Header.Set("Grpc-Timeout", "soon") }, http.StatusBadRequest},
		"binary":       {func(r *http.Request) { r.Header.Set("X-Bin", "?") }, http.StatusBadRequest},
		"joined":       {func(r *http.Request) { r.Header.Set("X-Bin", strings.Repeat(",", 400)) }, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := grpcRequest()
			test.change(r)
			w := httptest.NewRecorder()
			NewServer().ServeHTTP(w, r)
			if w.Code != test.code {
				t.Errorf("HTTP status %d, want %d", w.Code, test.code)
			}
			if body, _ := io.ReadAll(w.Body); len(body) == 0 {
				t.Error("no reason was given")
			}
		})
	}
}

func FuzzServeHTTP(f *testing.F) {
	f.Add("/test.Echo/Unary", "application/grpc", "1S", []byte{0, 0, 0, 0, 3, 10, 1, 'x'})
	f.Add("/test.Echo/Bidi", "application/grpc+proto", "", []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add("/", "text/html", "x", []byte(base64.StdEncoding.EncodeToString([]byte{1})))
	s := NewServer(MaxRecvMsgSize(1000))
	s.RegisterService(&echoDesc, newEcho())
	f.Fuzz(func(t *testing.T, path, contentType, timeout string, body []byte) {
		r := grpcRequest()
		r.URL.Path = path
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Grpc-Timeout", timeout)
		r.Header.Set("Grpc-Encoding", "gzip")
		r.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == http.StatusOK && w.Result().Trailer.Get("grpc-status") == "" {
			t.Error("a call without a status")
		}
	})
}
