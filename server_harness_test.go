// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The tests of the server speak to it through the transport, so that they can do
// what no client of this package does.

// text is the message type of the test services.
type text = wrapperspb.StringValue

// echo is the test service: its methods are these functions.
type echo struct {
	unary  func(context.Context, *text) (*text, error)
	stream func(ServerStream) error
}

//nolint:revive // generated code has the context second
func unaryHandler(srv any, ctx context.Context, dec func(any) error, interceptor UnaryServerInterceptor) (any, error) {
	in := new(text)
	if err := dec(in); err != nil {
		return nil, err
	}
	handle := func(ctx context.Context, req any) (any, error) { return srv.(*echo).unary(ctx, req.(*text)) }
	if interceptor == nil {
		return handle(ctx, in)
	}
	return interceptor(ctx, in, &UnaryServerInfo{Server: srv, FullMethod: "/test.Echo/Unary"}, handle)
}

func streamHandler(srv any, ss ServerStream) error { return srv.(*echo).stream(ss) }

var echoDesc = ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods:     []MethodDesc{{MethodName: "Unary", Handler: unaryHandler}},
	Streams: []StreamDesc{
		{StreamName: "Bidi", Handler: streamHandler, ServerStreams: true, ClientStreams: true},
		{StreamName: "Down", Handler: streamHandler, ServerStreams: true},
		{StreamName: "Up", Handler: streamHandler, ClientStreams: true},
	},
	Metadata: "echo.proto",
}

// newEcho fills in functions that return what they are given.
func newEcho() *echo {
	return &echo{
		unary: func(_ context.Context, m *text) (*text, error) { return m, nil },
		stream: func(ss ServerStream) error {
			for {
				m := new(text)
				switch err := ss.RecvMsg(m); {
				case errors.Is(err, io.EOF):
					return nil
				case err != nil:
					return err
				}
				if err := ss.SendMsg(m); err != nil {
					return err
				}
			}
		},
	}
}

// testServer is a server at work on a socket.
type testServer struct {
	*Server
	addr   string
	served chan error
}

// serve starts a server with the service e; it is stopped with the test.
func serve(t testing.TB, e *echo, opts ...ServerOption) *testServer {
	t.Helper()
	return serveOn(t, listen(t), e, opts...)
}

// serveOn is serve on a listener of the test's.
func serveOn(t testing.TB, lis net.Listener, e *echo, opts ...ServerOption) *testServer {
	t.Helper()
	s := NewServer(opts...)
	s.RegisterService(&echoDesc, e)
	ts := &testServer{s, lis.Addr().String(), make(chan error, 1)}
	go func() { ts.served <- s.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		// A short test may be over before Serve has begun.
		if err := <-ts.served; err != nil && err != ErrServerStopped {
			t.Errorf("Serve: %v", err)
		}
	})
	return ts
}

// clientEvents tells a test what happens to its connection.
type clientEvents struct {
	draining chan string
	closed   chan error
}

func (*clientEvents) Begun(*transport.Client) {}
func (*clientEvents) Unparkable(string)       {}

func (e *clientEvents) Draining(why transport.GoAway) { e.draining <- why.Debug() }
func (e *clientEvents) Places(uint32)                 {}
func (e *clientEvents) Closed(err error)              { e.closed <- err }
func (e *clientEvents) Told(error)                    {}

// testClient is one connection to a server.
type testClient struct {
	t testing.TB
	*transport.Client
	events *clientEvents
	creds  credentials.TransportCredentials
}

func connect(t testing.TB, s *testServer) *testClient { return connectSecure(t, s, nil) }

func connectSecure(t testing.TB, s *testServer, creds credentials.TransportCredentials) *testClient {
	t.Helper()
	cfg := &transport.ClientConfig{UserAgent: "test", Creds: creds}
	cfg.Prepare()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	events := &clientEvents{make(chan string, 4), make(chan error, 1)}
	c, err := transport.Connect(ctx, resolver.Address{Addr: s.addr}, "test.server", transport.ConnectParams{Config: cfg, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(errors.New("the test is over")) })
	return &testClient{t, c, events, creds}
}

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// testCall is one call of a test.
type testCall struct {
	*transport.ClientStream
	t testing.TB
}

// open starts a call without a message.
func (c *testClient) open(ctx context.Context, call transport.Call) *testCall {
	c.t.Helper()
	call.MaxRecvMsgSize = 64 << 20
	s, err := c.NewStream(ctx, &call, nil, false)
	if err != nil {
		c.t.Fatal(err)
	}
	return &testCall{s, c.t}
}

func payload(t testing.TB, m string, c encoding.Compressor) transport.Payload {
	t.Helper()
	data, err := encode(codecFor(""), &text{Value: m})
	if err != nil {
		t.Fatal(err)
	}
	p, err := compress(c, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (r *testCall) send(m string) {
	r.t.Helper()
	if err := r.Send(payload(r.t, m, nil), false); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testCall) closeSend() {
	r.t.Helper()
	if err := r.CloseSend(); err != nil && !errors.Is(err, io.EOF) {
		r.t.Fatal(err)
	}
}

// recv returns the next message, or ok == false when there is no other.
func (r *testCall) recv() (m string, ok bool) {
	r.t.Helper()
	in, err := r.Recv()
	if errors.Is(err, io.EOF) {
		return "", false
	}
	if err != nil {
		r.t.Fatal(err)
	}
	var msg text
	mr := messageReader{codec: codecFor(""), encoding: r.RecvCompress(), max: 64 << 20}
	if _, err := mr.read(in, &msg); err != nil {
		r.t.Fatal(err)
	}
	return msg.Value, true
}

// end waits for the status, and expects no message before it.
func (r *testCall) end() *status.Status {
	r.t.Helper()
	if m, ok := r.recv(); ok {
		r.t.Fatalf("got message %q, want the end", m)
	}
	return status.Convert(r.Status().Err())
}

func (r *testCall) wantEnd(code codes.Code, message string) {
	r.t.Helper()
	if st := r.end(); st.Code() != code || message != "" && st.Message() != message {
		r.t.Fatalf("ended with %v %q, want %v %q", st.Code(), st.Message(), code, message)
	}
}

// reply is how a unary call went.
type reply struct {
	text    string
	header  metadata.MD
	trailer metadata.MD
	status  *status.Status
}

// unary makes a whole call.
func (c *testClient) unary(ctx context.Context, m string) reply {
	c.t.Helper()
	return c.unaryCall(ctx, transport.Call{Method: "/test.Echo/Unary"}, payload(c.t, m, nil))
}

func (c *testClient) unaryCall(ctx context.Context, call transport.Call, p transport.Payload) reply {
	c.t.Helper()
	call.MaxRecvMsgSize = 64 << 20
	s, err := c.NewStream(ctx, &call, &p, true)
	if err != nil {
		c.t.Fatal(err)
	}
	r := &testCall{s, c.t}
	out := reply{}
	m, ok := r.recv()
	if ok {
		out.text = m
		out.status = r.end()
	} else {
		out.status = status.Convert(r.Status().Err())
	}
	out.header, out.trailer = r.Header(), r.Trailer()
	return out
}

func (r reply) want(t testing.TB, text string) {
	t.Helper()
	if r.status.Code() != codes.OK || r.text != text {
		t.Fatalf("got %q, %v, want %q", r.text, r.status, text)
	}
}

func (r reply) wantStatus(t testing.TB, code codes.Code, message string) {
	t.Helper()
	if r.status.Code() != code || message != "" && r.status.Message() != message {
		t.Fatalf("got %v %q, want %v %q", r.status.Code(), r.status.Message(), code, message)
	}
}

// within waits for a value.
func within[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

// waitUntil looks until is holds.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(late) {
			t.Fatalf("not in time: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}
