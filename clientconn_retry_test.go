// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

const retryConfig = `{"methodConfig":[{"name":[{"service":"test.Echo"}],"retryPolicy":{
	"maxAttempts":4,"initialBackoff":"0.001s","maxBackoff":"0.002s","backoffMultiplier":1,
	"retryableStatusCodes":["UNAVAILABLE"]}}]}`

// flaky makes an echo whose first n RPCs fail with the error.
func flaky(n int64, err error) (*echo, *atomic.Int64) {
	e, plain := newEcho(), newEcho()
	var seen atomic.Int64
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		if seen.Add(1) <= n {
			return nil, err
		}
		md, _ := metadata.FromIncomingContext(ctx)
		if got, want := fmt.Sprint(md["grpc-previous-rpc-attempts"]), fmt.Sprintf("[%d]", n); n > 0 && got != want {
			return nil, status.Errorf(codes.DataLoss, "previous attempts %s, want %s", got, want)
		}
		return plain.unary(ctx, m)
	}
	e.stream = func(ss ServerStream) error {
		if seen.Add(1) <= n {
			for range 2 { // it fails when it has received something
				_ = ss.RecvMsg(new(text))
			}
			return err
		}
		return plain.stream(ss)
	}
	return e, &seen
}

// TestRetryThatReachesNobody: call options tell of the last attempt that a server has answered, also if the one after it
// fails before it has a stream.
func TestRetryThatReachesNobody(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		return nil, errors.Join(SetTrailer(ctx, metadata.Pairs("a", "b")), status.Error(codes.Unavailable, "not now"))
	}
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(retryConfig))
	var md metadata.MD
	var p peer.Peer
	err := cc.Invoke(testContext(t), unaryMethod, new(text), new(text), PerRPCCredentials(&tokenOnce{}), Trailer(&md), Peer(&p))
	if err == nil || fmt.Sprint(md["a"]) != "[b]" || p.Addr == nil {
		t.Errorf("%v; the trailer is %v, the peer %v", err, md, p.Addr)
	}
}

func TestRetryUnary(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "not now")
	for _, tt := range []struct {
		what     string
		failures int64
		err      error
		opts     []DialOption
		callOpts []CallOption
		want     codes.Code
		attempts int64
	}{
		{what: "succeeds", failures: 3, err: unavailable, attempts: 4},
		{what: "too often", failures: 9, err: unavailable, want: codes.Unavailable, attempts: 4},
		{what: "channel's bound", failures: 9, err: unavailable, opts: []DialOption{WithMaxCallAttempts(2)}, want: codes.Unavailable, attempts: 2},
		{what: "another code", failures: 1, err: status.Error(codes.Aborted, ""), want: codes.Aborted, attempts: 1},
		{what: "disabled", failures: 1, err: unavailable, opts: []DialOption{WithDisableRetry()}, want: codes.Unavailable, attempts: 1},
		{what: "too large", failures: 1, err: unavailable, callOpts: []CallOption{MaxRetryRPCBufferSize(3)}, want: codes.Unavailable, attempts: 1},
	} {
		e, seen := flaky(tt.failures, tt.err)
		s := serve(t, e)
		cc := newTestClient(t, s.addr, append(tt.opts, WithDefaultServiceConfig(retryConfig))...)
		err := call(testContext(t), cc, "message", tt.callOpts...)
		wantCode(t, tt.what, err, tt.want)
		if got := seen.Load(); got != tt.attempts {
			t.Errorf("%s: %d attempts, want %d", tt.what, got, tt.attempts)
		}
	}
}

func TestRetryStream(t *testing.T) {
	e, seen := flaky(2, status.Error(codes.Unavailable, "not now"))
	s := serve(t, e)
	cc := newTestClient(t, s.addr, WithDefaultServiceConfig(retryConfig))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 { // some of these come to an attempt that is over
		if err := st.SendMsg(&text{Value: fmt.Sprint(i)}); err != nil {
			t.Fatalf("SendMsg %d: %v", i, err)
		}
	}
	if err := st.CloseSend(); err != nil {
		t.Error(err)
	}
	for i := range 5 {
		m := new(text)
		if err := st.RecvMsg(m); err != nil || m.Value != fmt.Sprint(i) {
			t.Fatalf("RecvMsg %d: %q, %v", i, m.Value, err)
		}
	}
	if err := st.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if got := seen.Load(); got != 3 {
		t.Errorf("%d attempts", got)
	}
}

// TestCloseWhileRetrying: a stats handler may close the channel when it is told of an attempt that is
// to be made again.
func TestCloseWhileRetrying(t *testing.T) {
	e, _ := flaky(1, status.Error(codes.Unavailable, "not now"))
	closer := &closeAtEnd{}
	closer.cc = newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(retryConfig), WithStatsHandler(closer))
	st, err := closer.cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_ = st.SendMsg(&text{Value: "x"})
	}
	wantCode(t, "the stream", st.RecvMsg(new(text)), codes.Canceled)
}

// closeAtEnd closes the channel at the first End.
type closeAtEnd struct {
	connWatch
	cc *ClientConn
}

func (c *closeAtEnd) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.End); ok {
		_ = c.cc.Close()
	}
}

// TestRetryStreamLost has the retry of a stream fail in place of the stream: its error is
// the RPC's, whoever asks first, and no method minds that there is no stream.
func TestRetryStreamLost(t *testing.T) {
	slow := strings.ReplaceAll(strings.ReplaceAll(retryConfig, "0.001s", "100s"), "0.002s", "100s")
	never := func(ctx context.Context, _ func()) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, tt := range []struct {
		what   string
		config string
		again  func(ctx context.Context, cancel func()) error // the second dial, and later ones
		want   codes.Code
		text   string
	}{
		{"refused", retryConfig, func(context.Context, func()) error { return errors.New("nobody there") }, codes.Unavailable, "nobody there"},
		{"the deadline passes", retryConfig, never, codes.DeadlineExceeded, "context deadline exceeded while waiting for connections to become ready"},
		{"cancelled", retryConfig, func(ctx context.Context, cancel func()) error {
			cancel()
			return never(ctx, nil)
		}, codes.Canceled, ""},
		{"the deadline passes in the back-off", slow, never, codes.DeadlineExceeded, ""},
	} {
		for first, do := range map[string]func(ClientStream){
			"RecvMsg":   func(st ClientStream) { _ = st.RecvMsg(new(text)) },
			"SendMsg":   func(st ClientStream) { _ = st.SendMsg(new(text)) },
			"Header":    func(st ClientStream) { _, _ = st.Header() },
			"CloseSend": func(st ClientStream) { _ = st.CloseSend() },
		} {
			t.Run(tt.what+"/"+first, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					st := lostStream(ctx, t, tt.config, func(ctx context.Context) error { return tt.again(ctx, cancel) })
					do(st)
					for range 2 {
						err := st.RecvMsg(new(text))
						wantCode(t, "RecvMsg", err, tt.want)
						if !strings.Contains(err.Error(), tt.text) {
							t.Errorf("%v, want %q", err, tt.text)
						}
					}
					if md := st.Trailer(); len(md) > 0 {
						t.Errorf("trailers %v", md)
					}
					if _, err := st.Header(); err != nil {
						t.Errorf("Header: %v", err)
					}
					if err := st.CloseSend(); err != nil && tt.want != codes.Canceled {
						t.Errorf("CloseSend: %v", err)
					}
				})
			})
		}
	}
}

// lostStream begins a stream whose connection was lost; again is what later dials do.
func lostStream(ctx context.Context, t *testing.T, config string, again func(context.Context) error) ClientStream {
	lis := bufconn.Listen(64 << 10)
	var first net.Conn
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		_ = ss.RecvMsg(new(text))
		first.Close()
		<-ss.Context().Done()
		return nil
	}
	s := NewServer()
	s.RegisterService(&echoDesc, e)
	go s.Serve(lis)
	t.Cleanup(s.Stop)
	cc := newTestClient(t, "passthrough:///bubble", WithDefaultServiceConfig(config),
		WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if first != nil {
				return nil, again(ctx)
			}
			nc, err := lis.DialContext(ctx)
			first = nc
			return nc, err
		}))
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SendMsg(new(text)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return st
}

// moody fails an RPC before it has a stream: as a picker, or as credentials. It is in the
// RPC's context.
type moody struct {
	err  error
	left int // failures to come
	seen int
}

func (m *moody) next() error {
	m.seen++
	if m.left--; m.left >= 0 {
		return m.err
	}
	return nil
}

type (
	moodyPick  struct{} // finds the moody of the pickers in a context
	moodyToken struct{} // finds that of the credentials
)

// moodyBuilder makes pickers that ask the RPC's moody.
type moodyBuilder struct{}

func (moodyBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc := range info.ReadySCs {
		return moodyPicker{sc}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type moodyPicker struct{ sc balancer.SubConn }

func (p moodyPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if m, ok := info.Ctx.Value(moodyPick{}).(*moody); ok {
		if err := m.next(); err != nil {
			return balancer.PickResult{}, err
		}
	}
	return balancer.PickResult{SubConn: p.sc}, nil
}

func (moodyToken) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	if m, ok := ctx.Value(moodyToken{}).(*moody); ok {
		return nil, m.next()
	}
	return nil, nil
}

func (moodyToken) RequireTransportSecurity() bool { return false }

// TestRetryWithoutStream has RPCs fail that get no stream: the policy goes by the code, and
// leaves those alone that the balancer drops.
func TestRetryWithoutStream(t *testing.T) {
	balancer.Register(base.NewBalancerBuilder("test_moody", moodyBuilder{}, base.Config{}))
	config := strings.Replace(retryConfig, "{", `{"loadBalancingConfig":[{"test_moody":{}}],`, 1)
	cc := newTestClient(t, serve(t, newEcho()).addr, WithDefaultServiceConfig(config), WithPerRPCCredentials(moodyToken{}))
	unavailable := status.Error(codes.Unavailable, "not now")
	for _, tt := range []struct {
		what     string
		key      any
		failures int
		err      error
		want     codes.Code
		attempts int
	}{
		{"no connection", moodyPick{}, 3, errors.New("backend down"), codes.OK, 4},
		{"no connection, too often", moodyPick{}, 9, errors.New("backend down"), codes.Unavailable, 4},
		{"dropped", moodyPick{}, 1, unavailable, codes.Unavailable, 1},
		{"credentials", moodyToken{}, 3, unavailable, codes.OK, 4},
		{"credentials, too often", moodyToken{}, 9, unavailable, codes.Unavailable, 4},
		{"credentials, another code", moodyToken{}, 1, status.Error(codes.PermissionDenied, ""), codes.PermissionDenied, 1},
	} {
		for _, stream := range []bool{false, true} {
			m := &moody{err: tt.err, left: tt.failures}
			ctx := context.WithValue(testContext(t), tt.key, m)
			what := fmt.Sprintf("%s, stream %t", tt.what, stream)
			if stream {
				wantCode(t, what, downCall(ctx, cc), tt.want)
			} else {
				wantCode(t, what, call(ctx, cc, "x"), tt.want)
			}
			if m.seen != tt.attempts {
				t.Errorf("%s: %d attempts, want %d", what, m.seen, tt.attempts)
			}
		}
	}
}

func TestRetryStreamCommitted(t *testing.T) {
	for _, tt := range []struct {
		what string
		opts []CallOption
		do   func(ClientStream)
	}{
		{"the buffer is full", []CallOption{MaxRetryRPCBufferSize(10)}, func(ClientStream) {}},
		{"the context was asked for", nil, func(st ClientStream) { st.Context() }},
	} {
		e, seen := flaky(1, status.Error(codes.Unavailable, "not now"))
		cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(retryConfig))
		st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, tt.opts...)
		if err != nil {
			t.Fatal(err)
		}
		_ = st.SendMsg(&text{Value: strings.Repeat("x", 20)})
		tt.do(st)
		_ = st.CloseSend()
		wantCode(t, tt.what, st.RecvMsg(new(text)), codes.Unavailable)
		if got := seen.Load(); got != 1 {
			t.Errorf("%s: %d attempts", tt.what, got)
		}
	}
}

func TestRetryEndsWithContext(t *testing.T) {
	slow := strings.ReplaceAll(strings.ReplaceAll(retryConfig, "0.001s", "100s"), "0.002s", "100s")
	e, _ := flaky(9, status.Error(codes.Unavailable, "not now"))
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(slow))
	ctx, cancel := context.WithTimeout(testContext(t), 30*time.Millisecond)
	defer cancel()
	wantCode(t, "unary", call(ctx, cc, "x"), codes.DeadlineExceeded)
	ctx, cancel = context.WithTimeout(testContext(t), 30*time.Millisecond)
	defer cancel()
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err == nil { // else it ended before its stream began, on a busy machine
		_ = st.CloseSend()
		err = st.RecvMsg(new(text))
	}
	wantCode(t, "stream", err, codes.DeadlineExceeded)
}

func TestCloseEndsRetryPause(t *testing.T) {
	slow := strings.ReplaceAll(strings.ReplaceAll(retryConfig, "0.001s", "100s"), "0.002s", "100s")
	e, seen := flaky(9, status.Error(codes.Unavailable, "not now"))
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(slow))
	result := make(chan error)
	go func() { result <- call(testContext(t), cc, "x") }()
	for seen.Load() == 0 {
		runtime.Gosched()
	}
	cc.Close()
	wantCode(t, "RPC", <-result, codes.Canceled)
}

// refuser is a server of HTTP/2 that refuses the first streams, or goes away before them.
type refuser struct {
	lis    net.Listener
	refuse func(f *http2.Framer, id uint32, n int) bool
	n      int // streams so far; owned by serve
}

func newRefuser(t *testing.T, refuse func(f *http2.Framer, id uint32, n int) bool) *refuser {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &refuser{lis: lis, refuse: refuse}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := lis.Accept()
			if err != nil {
				return
			}
			r.serve(nc)
			nc.Close()
		}
	}()
	t.Cleanup(func() {
		lis.Close()
		<-done
	})
	return r
}

func (r *refuser) serve(nc net.Conn) {
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(nc, nc)
	_ = f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			r.n++
			if !r.refuse(f, frame.StreamID, r.n) {
				// A reply in trailers only: grpc-status 0 without a message.
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, EndHeaders: true, EndStream: true, BlockFragment: trailersOnly})
			}
		}
	}
}

// trailersOnly is :status 200, content-type application/grpc and grpc-status 5.
var trailersOnly = append([]byte{0x88}, literal("content-type", "application/grpc", "grpc-status", "5")...)

func literal(kv ...string) (b []byte) {
	for i := 0; i < len(kv); i += 2 {
		b = append(b, 0, byte(len(kv[i])))
		b = append(append(b, kv[i]...), byte(len(kv[i+1])))
		b = append(b, kv[i+1]...)
	}
	return b
}

func TestTransparentRetry(t *testing.T) {
	refused := func(times int) func(*http2.Framer, uint32, int) bool {
		return func(f *http2.Framer, id uint32, n int) bool {
			if n <= times {
				_ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			}
			return n <= times
		}
	}
	goAway := func(f *http2.Framer, id uint32, n int) bool {
		if n == 1 {
			_ = f.WriteGoAway(id-1, http2.ErrCodeNo, nil) // not to be seen
		}
		return n == 1
	}
	for _, tt := range []struct {
		what   string
		refuse func(*http2.Framer, uint32, int) bool
		want   codes.Code // NotFound is the server's answer
	}{
		{"refused once", refused(1), codes.NotFound},
		{"refused twice", refused(2), codes.Unavailable},
		{"above the last stream of a GOAWAY", goAway, codes.NotFound},
	} {
		for _, stream := range []bool{false, true} {
			r := newRefuser(t, tt.refuse)
			cc := newTestClient(t, r.lis.Addr().String(), WithDisableRetry())
			var err error
			if stream {
				err = downCall(testContext(t), cc)
			} else {
				err = call(testContext(t), cc, "x")
			}
			cc.Close()
			r.lis.Close()
			if got := status.Code(err); got != tt.want {
				t.Errorf("%s, stream %t: %v, want %v", tt.what, stream, err, tt.want)
			}
		}
	}
}
