// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

func TestHeaderTrailerPeer(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		_ = SetHeader(ctx, metadata.Pairs("h", "1"))
		_ = SetTrailer(ctx, metadata.Pairs("t", "2"))
		if m.Value == "fail" {
			return nil, status.Error(codes.NotFound, "it is not there")
		}
		return m, nil
	}
	s := serve(t, e)
	cc := newTestClient(t, s.addr)
	for _, value := range []string{"x", "fail"} {
		var (
			header, trailer metadata.MD
			p               peer.Peer
			finished        []error
		)
		err := call(testContext(t), cc, value, Header(&header), Trailer(&trailer), Peer(&p),
			OnFinish(func(err error) { finished = append(finished, err) }))
		if value == "fail" {
			wantCode(t, value, err, codes.NotFound, "it is not there")
		} else if err != nil {
			t.Error(err)
		}
		if trailer.Get("t") == nil || value == "x" && header.Get("h") == nil {
			t.Errorf("%s: header %v, trailer %v", value, header, trailer)
		}
		if p.Addr == nil || p.Addr.String() != s.addr {
			t.Errorf("%s: peer %v", value, &p)
		}
		if len(finished) != 1 || finished[0] != err {
			t.Errorf("%s: finished with %v", value, finished)
		}
	}
}

func TestPeerOfStreamContext(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	// A server's handler may make RPCs of its own with the context of the one it serves.
	ctx := peer.NewContext(testContext(t), &peer.Peer{})
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // while it goes on, and at its end
		p, ok := peer.FromContext(st.Context())
		if !ok || p.Addr == nil || p.Addr.String() != s.addr || p.LocalAddr == nil || p.AuthInfo == nil {
			t.Errorf("peer %v, %t", p, ok)
		}
		_ = st.CloseSend()
		_ = st.RecvMsg(new(text))
	}
}

// TestOnFinishOfWhatNeverBegan has RPCs end before their options are through.
func TestOnFinishOfWhatNeverBegan(t *testing.T) {
	silent := manual.NewBuilderWithScheme("test") // its resolver brings nothing
	canceled, cancel := context.WithCancel(testContext(t))
	cancel()
	for _, tt := range []struct {
		what string
		ctx  context.Context
		opt  CallOption
		want codes.Code
	}{
		{"the context ends before the resolver's first answer", canceled, EmptyCallOption{}, codes.Canceled},
		{"an option before it fails", testContext(t), accepting{names: []string{"none"}}, codes.InvalidArgument},
	} {
		target := "test:///x"
		if tt.want != codes.Canceled {
			target = "passthrough:///x"
		}
		cc := newTestClient(t, target, WithResolvers(silent))
		var finished []error
		onFinish := OnFinish(func(err error) { finished = append(finished, err) })
		unary := call(tt.ctx, cc, "x", tt.opt, onFinish)
		_, stream := cc.NewStream(tt.ctx, bidiStream, bidiMethod, tt.opt, onFinish)
		wantCode(t, tt.what+": unary", unary, tt.want)
		wantCode(t, tt.what+": stream", stream, tt.want)
		if len(finished) != 2 || finished[0] != unary || finished[1] != stream {
			t.Errorf("%s: finished with %v", tt.what, finished)
		}
	}
}

func TestSizeLimits(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	const long = "a message that is too long"
	ctx := testContext(t)
	wantCode(t, "send", call(ctx, cc, long, MaxCallSendMsgSize(10)), codes.ResourceExhausted, "trying to send message larger than max (")
	wantCode(t, "receive", call(ctx, cc, long, MaxCallRecvMsgSize(10)), codes.ResourceExhausted, "grpc: received message larger than max (")
	wantCode(t, "receive compressed", call(ctx, cc, strings.Repeat("x", 10000), MaxCallRecvMsgSize(200), UseCompressor("gzip")), codes.ResourceExhausted)
	config := WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":10}]}`)
	wantCode(t, "config", call(ctx, newTestClient(t, s.addr, config), long, MaxCallSendMsgSize(100)), codes.ResourceExhausted)
	if err := call(ctx, cc, long, MaxCallSendMsgSize(len(long)+2), MaxCallRecvMsgSize(len(long)+2)); err != nil {
		t.Errorf("just small enough: %v", err)
	}
}

// TestMaxHeaderListSizeOfZero lets no header fields pass, neither of requests nor of replies.
func TestMaxHeaderListSizeOfZero(t *testing.T) {
	s := serve(t, newEcho(), MaxHeaderListSize(0))
	wantCode(t, "a server that takes none", call(testContext(t), newTestClient(t, s.addr), "x"), codes.Internal,
		"header list size to send violates the maximum size (0 bytes) set by server")
	cc := newTestClient(t, serve(t, newEcho()).addr, WithMaxHeaderListSize(0))
	wantCode(t, "a client that takes none", call(testContext(t), cc, "x"), codes.Internal,
		"stream terminated by RST_STREAM with error code: INTERNAL_ERROR")
}

func TestCallErrors(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	ctx := testContext(t)
	wantCode(t, "codec", call(ctx, cc, "x", CallContentSubtype("none")), codes.Internal, "no codec registered")
	wantCode(t, "compressor", call(ctx, cc, "x", UseCompressor("none")), codes.Internal, "none")
	wantCode(t, "not a message", cc.Invoke(ctx, unaryMethod, 42, new(text)), codes.Internal, "marshal")
	wantCode(t, "no such method", cc.Invoke(ctx, "/test.Echo/None", new(text), new(text)), codes.Unimplemented)
	wantCode(t, "bad metadata", call(metadata.AppendToOutgoingContext(ctx, "a key", "v"), cc, "x"), codes.Internal)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	wantCode(t, "cancelled before", call(gone, cc, "x"), codes.Canceled)
}

func TestMethodTimeout(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	s := serve(t, e)
	cc := newTestClient(t, s.addr, WithDefaultServiceConfig(`{"methodConfig":[{"name":[{"service":"test.Echo"}],"timeout":"0.02s"}]}`))
	wantCode(t, "timeout", call(testContext(t), cc, "x"), codes.DeadlineExceeded)
}

func TestInterceptors(t *testing.T) {
	s := serve(t, newEcho())
	var order []string
	unary := func(name string) UnaryClientInterceptor {
		return func(ctx context.Context, method string, req, reply any, cc *ClientConn, invoker UnaryInvoker, opts ...CallOption) error {
			order = append(order, name)
			return invoker(ctx, method, req, reply, cc, opts...)
		}
	}
	stream := func(name string) StreamClientInterceptor {
		return func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, streamer Streamer, opts ...CallOption) (ClientStream, error) {
			order = append(order, name)
			return streamer(ctx, desc, cc, method, opts...)
		}
	}
	for _, tt := range []struct {
		what string
		opts []DialOption
		want string
	}{
		{"one before the chain", []DialOption{
			WithChainUnaryInterceptor(unary("b"), unary("c")), WithUnaryInterceptor(unary("a")),
			WithChainStreamInterceptor(stream("e"), stream("f")), WithStreamInterceptor(stream("d")),
		}, "abcdef"},
		{"the last one counts", []DialOption{
			WithUnaryInterceptor(unary("x")), WithChainUnaryInterceptor(unary("b")), WithUnaryInterceptor(unary("a")), WithChainUnaryInterceptor(unary("c")),
			WithStreamInterceptor(stream("x")), WithChainStreamInterceptor(stream("e")), WithStreamInterceptor(stream("d")), WithChainStreamInterceptor(stream("f")),
		}, "abcdef"},
		{"nil is none", []DialOption{
			WithUnaryInterceptor(unary("x")), WithUnaryInterceptor(nil), WithChainUnaryInterceptor(unary("b")),
			WithStreamInterceptor(stream("x")), WithStreamInterceptor(nil), WithChainStreamInterceptor(stream("e")),
		}, "be"},
		{"nil alone", []DialOption{WithUnaryInterceptor(nil), WithStreamInterceptor(nil)}, ""},
	} {
		cc := newTestClient(t, s.addr, tt.opts...)
		for range 2 {
			order = nil
			if err := call(testContext(t), cc, "x"); err != nil {
				t.Errorf("%s: %v", tt.what, err)
			}
			if err := downCall(testContext(t), cc); err != nil {
				t.Errorf("%s: %v", tt.what, err)
			}
			if got := strings.Join(order, ""); got != tt.want {
				t.Errorf("%s: order %s, want %s", tt.what, got, tt.want)
			}
		}
	}
}

func TestCardinality(t *testing.T) {
	e := newEcho()
	replies := 0
	e.stream = func(ss ServerStream) error {
		for range replies {
			if err := ss.SendMsg(&text{Value: "reply"}); err != nil {
				return err
			}
		}
		return nil
	}
	s := serve(t, e)
	cc := newTestClient(t, s.addr)
	for _, tt := range []struct {
		replies int
		want    codes.Code
	}{{0, codes.Internal}, {1, codes.OK}, {2, codes.Internal}} {
		replies = tt.replies
		// A method that streams, called as one that does not.
		wantCode(t, fmt.Sprintf("unary, %d replies", replies), cc.Invoke(testContext(t), bidiMethod, new(text), new(text)), tt.want)
		st, err := cc.NewStream(testContext(t), &StreamDesc{ClientStreams: true}, "/test.Echo/Up")
		if err != nil {
			t.Fatal(err)
		}
		_ = st.CloseSend()
		wantCode(t, fmt.Sprintf("client stream, %d replies", replies), st.RecvMsg(new(text)), tt.want)
		if tt.want == codes.OK {
			if err := st.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
				t.Errorf("after the one reply: %v", err)
			}
		}
	}
}

func TestSendAfterClose(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	_ = st.CloseSend()
	wantCode(t, "SendMsg after CloseSend", st.SendMsg(new(text)), codes.Internal)
	for range 2 {
		// The server may have ended the call before, as CloseSend asked it to.
		if err := st.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
			wantCode(t, "RecvMsg after that", err, codes.Internal, "SendMsg called after CloseSend")
		}
	}
	if err := st.CloseSend(); err != nil {
		t.Errorf("CloseSend at the end: %v", err)
	}
}

// TestSecondMessageOfUnarySide has a program send two messages where the method takes one: the
// server learns at once that nobody waits for its reply.
func TestSecondMessageOfUnarySide(t *testing.T) {
	e := newEcho()
	ended := make(chan error, 1)
	e.stream = func(ss ServerStream) error {
		_ = ss.RecvMsg(new(text))
		<-ss.Context().Done()
		ended <- ss.Context().Err()
		return nil
	}
	cc := newTestClient(t, serve(t, e).addr)
	st, err := cc.NewStream(testContext(t), &StreamDesc{ServerStreams: true}, "/test.Echo/Down")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SendMsg(new(text)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "second SendMsg", st.SendMsg(new(text)), codes.Internal, "SendMsg called after CloseSend")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context ended with %v", err)
	}
	wantCode(t, "RecvMsg", st.RecvMsg(new(text)), codes.Internal, "SendMsg called after CloseSend")
}

func TestPreparedMsgOnClient(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, UseCompressor("gzip"))
	if err != nil {
		t.Fatal(err)
	}
	p := new(PreparedMsg)
	if err := p.Encode(st, &text{Value: "prepared"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m := new(text)
		if err := st.SendMsg(p); err != nil {
			t.Fatal(err)
		}
		if err := st.RecvMsg(m); err != nil || m.Value != "prepared" {
			t.Errorf("%q, %v", m.Value, err)
		}
	}
	_ = st.CloseSend()
	_ = st.RecvMsg(new(text))
}

// token is per-RPC credentials.
type token struct {
	md     map[string]string
	err    error
	secure bool
	seen   []string
}

func (k *token) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	info, _ := credentials.RequestInfoFromContext(ctx)
	k.seen = append(k.seen, strings.Join(append(uri, info.Method, info.AuthInfo.AuthType()), " "))
	return k.md, k.err
}

func (k *token) RequireTransportSecurity() bool { return k.secure }

func TestPerRPCCredentials(t *testing.T) {
	e := newEcho()
	var got metadata.MD
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		got, _ = metadata.FromIncomingContext(ctx)
		return m, nil
	}
	s := serve(t, e)
	a, b := &token{md: map[string]string{"A": "1"}}, &token{md: map[string]string{"b": "2"}}
	cc := newTestClient(t, s.addr, WithPerRPCCredentials(a))
	if err := call(testContext(t), cc, "x", PerRPCCredentials(b)); err != nil {
		t.Fatal(err)
	}
	if got.Get("a") == nil || got.Get("b") == nil {
		t.Errorf("the server received %v", got)
	}
	if want := "https://" + s.addr + "/test.Echo " + unaryMethod + " insecure"; len(a.seen) != 1 || a.seen[0] != want {
		t.Errorf("asked for %q, want %q", a.seen, want)
	}
	for _, tt := range []struct {
		creds *token
		want  codes.Code
	}{
		{&token{err: errors.New("no token")}, codes.Internal},
		{&token{err: status.Error(codes.ResourceExhausted, "")}, codes.ResourceExhausted},
		{&token{err: status.Error(codes.NotFound, "")}, codes.Internal}, // gRFC A54
		{&token{secure: true}, codes.Unauthenticated},
	} {
		wantCode(t, fmt.Sprintf("%+v", tt.creds), call(testContext(t), cc, "x", PerRPCCredentials(tt.creds)), tt.want)
	}
	a.err = errors.New("no token")
	wantCode(t, "of the channel", call(testContext(t), cc, "x"), codes.Unauthenticated, "per-RPC creds failed due to error: no token")
	_, err := NewClient(s.addr, WithTransportCredentials(insecure.NewCredentials()), WithPerRPCCredentials(&token{secure: true}))
	if err == nil {
		t.Error("no error for credentials that need security on a channel without")
	}
	if _, err := NewClient(s.addr); err == nil || !strings.Contains(err.Error(), "no transport security set") {
		t.Errorf("without credentials: %v", err)
	}
}

func TestAuthority(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		return &text{Value: strings.Join(metadata.ValueFromIncomingContext(ctx, ":authority"), ",")}, nil
	}
	s := serve(t, e)
	named := manualTarget()
	named.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: s.addr, ServerName: "address.example"}}})
	ask := func(target string, opts []DialOption, callOpts ...CallOption) string {
		t.Helper()
		out := new(text)
		if err := newTestClient(t, target, opts...).Invoke(testContext(t), unaryMethod, new(text), out, callOpts...); err != nil {
			t.Error(err)
		}
		return out.Value
	}
	for _, tt := range []struct{ what, got, want string }{
		{"the target", ask("dns:///"+s.addr, nil), s.addr},
		{"WithAuthority", ask(s.addr, []DialOption{WithAuthority("with.example")}), "with.example"},
		{"CallAuthority", ask(s.addr, nil, CallAuthority("call.example")), "call.example"},
		{"the address", ask("test:///x", []DialOption{WithResolvers(named)}), "address.example"},
		{"WithAuthority and the address", ask("test:///x", []DialOption{WithResolvers(named), WithAuthority("with.example")}), "with.example"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
}

// events is a stats handler that notes what it is told.
type events struct {
	mu   sync.Mutex
	list []string
	end  error
}

func (e *events) add(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s)
}

func (e *events) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	e.add("tag")
	return ctx
}

func (e *events) HandleRPC(_ context.Context, s stats.RPCStats) {
	if !s.IsClient() {
		e.add("not the client's")
	}
	switch s := s.(type) {
	case *stats.DelayedPickComplete:
		return // it depends on how fast the connection is
	case *stats.OutHeader:
		if s.FullMethod == "" || s.RemoteAddr == nil || s.Authority == "" || s.Header.Get("sent") == nil {
			e.add(fmt.Sprintf("incomplete: %+v", s))
		}
	case *stats.InHeader:
		if s.WireLength == 0 || s.Header.Get("h") == nil {
			e.add(fmt.Sprintf("incomplete: %+v", s))
		}
	case *stats.InTrailer:
		if s.Trailer.Get("t") == nil {
			e.add(fmt.Sprintf("incomplete: %+v", s))
		}
	case *stats.InPayload:
		if s.Payload == nil || s.WireLength != s.CompressedLength+5 {
			e.add(fmt.Sprintf("incomplete: %+v", s))
		}
	case *stats.End:
		e.mu.Lock()
		e.end = s.Error
		e.mu.Unlock()
	}
	e.add(strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats."))
}

func (e *events) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (e *events) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnEnd); ok {
		e.add("ConnEnd")
	}
}

func (e *events) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := strings.Join(e.list, " ")
	e.list = nil
	return list
}

func TestClientStats(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		_ = SetHeader(ctx, metadata.Pairs("h", "1"))
		_ = SetTrailer(ctx, metadata.Pairs("t", "2"))
		return m, nil
	}
	e.stream = func(ss ServerStream) error {
		_ = ss.SetHeader(metadata.Pairs("h", "1"))
		ss.SetTrailer(metadata.Pairs("t", "2"))
		_ = ss.RecvMsg(new(text))
		_ = ss.SendMsg(new(text))
		return status.Error(codes.Aborted, "enough")
	}
	s := serve(t, e)
	h := &events{}
	cc := newTestClient(t, s.addr, WithStatsHandler(h), WithStatsHandler(nil))
	ctx := metadata.AppendToOutgoingContext(testContext(t), "sent", "1")
	const want = "tag Begin OutHeader OutPayload InHeader InPayload InTrailer End"
	if err := call(ctx, cc, "x"); err != nil {
		t.Fatal(err)
	}
	if got := h.take(); got != want {
		t.Errorf("unary: %s, want %s", got, want)
	}
	wantCode(t, "stream", downCall(ctx, cc), codes.Aborted)
	if got := h.take(); got != want {
		t.Errorf("stream: %s, want %s", got, want)
	}
	wantCode(t, "End", h.end, codes.Aborted)
	wantCode(t, "unsendable", cc.Invoke(ctx, unaryMethod, 1, nil), codes.Internal)
	if got := h.take(); got != "tag Begin OutHeader End" {
		t.Errorf("unsendable: %s", got)
	}
}

func TestAcceptedCompressors(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		return &text{Value: strings.Join(metadata.ValueFromIncomingContext(ctx, "grpc-accept-encoding"), ",")}, nil
	}
	cc := newTestClient(t, serve(t, e).addr)
	for _, tt := range []struct {
		names []string
		want  string
	}{{[]string{"gzip", encoding.Identity}, "gzip"}, {nil, "gzip"}, {[]string{encoding.Identity}, "gzip"}, {[]string{" gzip", "gzip"}, "gzip"}} {
		out := new(text)
		if err := cc.Invoke(testContext(t), unaryMethod, new(text), out, accepting{names: tt.names}); err != nil {
			t.Error(err)
		}
		if out.Value != tt.want {
			t.Errorf("%q: the server is told %q", tt.names, out.Value)
		}
	}
	wantCode(t, "a compressor that nobody knows", call(testContext(t), cc, "x", accepting{names: []string{"none"}}), codes.InvalidArgument)
}

// TestUnacceptedCompressor: a response fails that is compressed in a way that the RPC does not accept.
func TestUnacceptedCompressor(t *testing.T) {
	for _, tt := range []struct {
		accept, name string
		refused      bool
	}{{"", "other", false}, {"gzip,third", "third", false}, {"gzip", "", false}, {"gzip", "identity", false}, {"gzip,third", "other", true}} {
		err := (&callInfo{accept: tt.accept}).refuses(tt.name)
		if (err != nil) != tt.refused || tt.refused && status.Code(err) != codes.Internal {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

type accepting struct {
	EmptyCallOption
	names []string
}

func (a accepting) AcceptCompressors() []string { return a.names }

// TestCancelWithMessagesUnread has a stream end with messages that nobody took; the check
// for leaks is that of TestMain.
func TestCancelWithMessagesUnread(t *testing.T) {
	e := newEcho()
	sent := make(chan struct{})
	e.stream = func(ss ServerStream) error {
		defer close(sent)
		for range 4 {
			if err := ss.SendMsg(&text{Value: strings.Repeat("x", 3000)}); err != nil {
				return err
			}
		}
		return nil
	}
	s := serve(t, e)
	cc := newTestClient(t, s.addr)
	ctx, cancel := context.WithCancel(testContext(t))
	finished := make(chan error, 1)
	st, err := cc.NewStream(ctx, &StreamDesc{ServerStreams: true}, "/test.Echo/Down", OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	_ = st.SendMsg(&text{})
	if err := st.RecvMsg(new(text)); err != nil {
		t.Fatal(err)
	}
	<-sent
	cancel()
	wantCode(t, "OnFinish", <-finished, codes.Canceled)
}
