// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// What is here a program notices when it moves from the published module: each was another way
// once.

func TestUpperCaseKeys(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr)
	ctx := metadata.NewOutgoingContext(testContext(t), metadata.MD{"Upper": {"1"}})
	const text = `header key "Upper" contains illegal characters not in [0-9a-z-_.]`
	wantCode(t, "unary", call(ctx, cc, "x"), codes.Internal, text)
	_, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	wantCode(t, "stream", err, codes.Internal, text)
	ctx = metadata.AppendToOutgoingContext(testContext(t), "Upper", "1")
	if err := call(ctx, cc, "x"); err != nil {
		t.Errorf("appended: %v", err)
	}
}

// ownCompressor is one of the kind that is not registered.
type ownCompressor struct{}

func (ownCompressor) Do(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}
func (ownCompressor) Type() string { return "own" }

func TestAcceptEncoding(t *testing.T) {
	var got metadata.MD
	cc := newTestClient(t, serve(t, incoming(&got)).addr)
	ctx := metadata.AppendToOutgoingContext(testContext(t), "grpc-accept-encoding", "mine")
	if err := call(ctx, cc, "x"); err != nil {
		t.Fatal(err)
	}
	if v := got["grpc-accept-encoding"]; len(v) != 2 || v[1] != "mine" {
		t.Errorf("the program's is lost: %q", v)
	}
	if err := call(testContext(t), cc, "x", UseCompressor("identity")); err != nil {
		t.Fatal(err)
	}
	if v := got["grpc-accept-encoding"]; len(v) != 1 || !strings.HasSuffix(v[0], "identity") {
		t.Errorf("with identity as the compressor: %q", v)
	}
	headers := make(chan http.Header, 1)
	h := newHTTPServer(t, func(w http.ResponseWriter, r *http.Request) { headers <- r.Header })
	own := newTestClient(t, h, WithCompressor(ownCompressor{}))
	_ = call(testContext(t), own, "x")
	if v := (<-headers).Values("Grpc-Accept-Encoding"); !strings.HasSuffix(strings.Join(v, ","), "own") {
		t.Errorf("what the channel's compressor makes is not accepted: %q", v)
	}
}

// newHTTPServer serves HTTP/2 without TLS.
func newHTTPServer(t *testing.T, f http.HandlerFunc) (addr string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: f, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(lis)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return lis.Addr().String()
}

// eventNames is a stats handler that keeps what it is told.
type eventNames struct {
	stats.Handler
	mu    sync.Mutex
	names []string
	out   []*stats.OutHeader
}

func (e *eventNames) add(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, name)
}

func (e *eventNames) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	e.add("tag")
	return ctx
}

func (e *eventNames) HandleRPC(_ context.Context, s stats.RPCStats) {
	e.add(fmt.Sprintf("%T", s))
	if h, ok := s.(*stats.OutHeader); ok {
		e.out = append(e.out, h)
	}
}

func (e *eventNames) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (e *eventNames) HandleConn(context.Context, stats.ConnStats)                       {}

// TestNoEventsOfWhatNeverBegan has RPCs fail before there is one.
func TestNoEventsOfWhatNeverBegan(t *testing.T) {
	s := serve(t, newEcho())
	e := &eventNames{}
	cc := newTestClient(t, s.addr, WithStatsHandler(e), WithUserAgent("test"))
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	if ua := e.out[0].Header["user-agent"]; len(ua) != 1 || !strings.HasPrefix(ua[0], "test grpc-go/") {
		t.Errorf("OutHeader has user-agent %q", ua)
	}
	e.names = nil
	canceled, cancel := context.WithCancel(testContext(t))
	cancel()
	bad := metadata.AppendToOutgoingContext(testContext(t), "k", "\x01")
	fail := func(what string, ctx context.Context, want codes.Code) {
		t.Helper()
		wantCode(t, what, call(ctx, cc, "x"), want)
		_, err := cc.NewStream(ctx, bidiStream, bidiMethod)
		wantCode(t, what+", stream", err, want)
	}
	fail("bad metadata", bad, codes.Internal)
	fail("a context that is over", canceled, codes.Canceled)
	cc.Close()
	fail("a closed channel", testContext(t), codes.Canceled)
	if len(e.names) > 0 {
		t.Errorf("events: %q", e.names)
	}
}

// TestUnsendable has messages that can't be sent: the RPC has begun then.
func TestUnsendable(t *testing.T) {
	events := &eventNames{}
	cc := newTestClient(t, serve(t, newEcho()).addr, WithStatsHandler(events))
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what string
		msg  any
		code codes.Code
		opts []CallOption
	}{
		{"no message", 1, codes.Internal, nil},
		{"a large one", &text{Value: "x"}, codes.ResourceExhausted, []CallOption{MaxCallSendMsgSize(1)}},
	} {
		events.names = nil
		var trailer metadata.MD
		err := cc.Invoke(testContext(t), unaryMethod, tt.msg, new(text), append(tt.opts, Trailer(&trailer))...)
		wantCode(t, tt.what, err, tt.code)
		if got, want := strings.Join(events.names, " "), "tag *stats.Begin *stats.OutHeader *stats.End"; got != want {
			t.Errorf("%s: events %s, want %s", tt.what, got, want)
		}
		if trailer == nil {
			t.Errorf("%s: the trailer is nil", tt.what)
		}
	}
	m := manual.NewBuilderWithScheme("test")
	m.InitialState(resolver.State{})
	none := newTestClient(t, "test:///x", WithResolvers(m))
	wantCode(t, "no server", none.Invoke(testContext(t), unaryMethod, 1, new(text)), codes.Unavailable)
}

// TestNoTrailer has RPCs fail before they have a stream: then there is no trailer, not even
// an empty one.
func TestNoTrailer(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr)
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(testContext(t))
	cancel()
	bad := metadata.AppendToOutgoingContext(testContext(t), "k", "\x01")
	for _, ctx := range []context.Context{canceled, bad} {
		var md metadata.MD
		if err := cc.Invoke(ctx, unaryMethod, new(text), new(text), Trailer(&md)); err == nil || md != nil {
			t.Errorf("%v, trailer %v", err, md)
		}
	}
}

func TestRetriesExhausted(t *testing.T) {
	e := newEcho()
	e.unary = func(context.Context, *text) (*text, error) { return nil, status.Error(codes.Unavailable, "down") }
	e.stream = func(ServerStream) error { return status.Error(codes.Unavailable, "down") }
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"retryPolicy":
		{"maxAttempts":3,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`))
	const text = "max retries exhausted: failed after 3 attempts: rpc error: code = Unavailable desc = down"
	wantCode(t, "unary", call(testContext(t), cc, "x"), codes.Unavailable, text)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantCode(t, "stream", st.RecvMsg(nil), codes.Unavailable, text)
	}
}

// TestTextOfGoAway has a server take leave, and then leave its RPCs.
func TestTextOfGoAway(t *testing.T) {
	for debug, want := range map[string]string{
		"too_many_pings": `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: ENHANCE_YOUR_CALM, debug data: "too_many_pings"`,
		"":               `received prior goaway: code: ENHANCE_YOUR_CALM`,
	} {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := lis.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
			fr := http2.NewFramer(c, c)
			_ = fr.WriteSettings()
			for {
				f, err := fr.ReadFrame()
				if err != nil {
					return
				}
				if d, ok := f.(*http2.DataFrame); ok {
					_ = fr.WriteGoAway(d.StreamID, http2.ErrCodeEnhanceYourCalm, []byte(debug))
					return
				}
			}
		}()
		cc := newTestClient(t, lis.Addr().String())
		err = call(testContext(t), cc, "x")
		wantCode(t, "an RPC that was left", err, codes.Unavailable, want)
		if debug == "" && strings.Contains(err.Error(), "debug data") {
			t.Errorf("there is no debug data: %v", err)
		}
		cc.Close()
		lis.Close()
		<-done
	}
}

// brokenBuilder builds no resolver.
type brokenBuilder struct{}

func (brokenBuilder) Scheme() string { return "test" }
func (brokenBuilder) Build(resolver.Target, resolver.ClientConn, resolver.BuildOptions) (resolver.Resolver, error) {
	return nil, errors.New("there is no target like that")
}

func TestTextOfBuild(t *testing.T) {
	cc := newTestClient(t, "test:///x", WithResolvers(brokenBuilder{}))
	wantCode(t, "RPC", call(testContext(t), cc, "x"), codes.Unavailable, "desc = there is no target like that")
	_, err := Dial("test:///x", WithInsecure(), WithResolvers(brokenBuilder{}))
	if want := "failed to exit idle mode: failed to start resolver: there is no target like that"; err == nil || err.Error() != want {
		t.Errorf("Dial: %v, want %q", err, want)
	}
	cc = newTestClient(t, "dns:///")
	wantCode(t, "dns:///", call(testContext(t), cc, "x"), codes.Unavailable, "desc = dns resolver: missing address")
}

// TestBadResolverState has a resolver bring what is of no use: it is to know, and to try again.
func TestBadResolverState(t *testing.T) {
	for _, tt := range []struct{ policy, text string }{
		{"pick_first", "name resolver error: produced zero addresses"},
		{"round_robin", "no children to pick from"},
	} {
		m := manual.NewBuilderWithScheme("test")
		cc := newTestClient(t, "test:///x", WithResolvers(m), WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig":[{%q:{}}]}`, tt.policy)))
		cc.Connect()
		if err := m.CC().UpdateState(resolver.State{}); err != balancer.ErrBadResolverState {
			t.Errorf("%s, no addresses: %v", tt.policy, err)
		}
		wantCode(t, tt.policy, call(testContext(t), cc, "x"), codes.Unavailable, tt.text)
		bad := resolver.State{ServiceConfig: m.CC().ParseServiceConfig("bad")}
		if err := m.CC().UpdateState(bad); err != balancer.ErrBadResolverState {
			t.Errorf("%s, a bad service config: %v", tt.policy, err)
		}
	}
}

// TestStatusOfDialer has a dialer say what is wrong.
func TestStatusOfDialer(t *testing.T) {
	for err, want := range map[error]codes.Code{
		status.Error(codes.PermissionDenied, "no"): codes.PermissionDenied,
		status.Error(codes.NotFound, "no"):         codes.Internal, // A54: not the control plane's to say
		errors.New("no"):                           codes.Unavailable,
	} {
		cc := newTestClient(t, "passthrough:///x", WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, err }))
		wantCode(t, err.Error(), call(testContext(t), cc, "x"), want, `connection error: desc = "transport: Error while dialing: `)
	}
}
