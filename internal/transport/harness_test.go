// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// testServer accepts connections and serves each stream with handle.
type testServer struct {
	t      testing.TB
	lis    net.Listener
	cfg    ServerConfig
	handle func(*ServerStream)

	mu     sync.Mutex
	conns  map[*Server]struct{}
	closed chan error // the cause of each connection's end
	wg     sync.WaitGroup
}

// refusedMethod is one that no handler of a testServer sees.
const refusedMethod = "/test.Nobody/Any"

func (*testServer) NewStream(Method) (*ServerStream, int) { return nil, 0 }

func (s *testServer) Refuses(st *ServerStream) *status.Status {
	if st.Method() == refusedMethod {
		return status.New(codes.Unimplemented, "nobody")
	}
	return nil
}

func (s *testServer) HandleStream(st *ServerStream) { s.handle(st) }

func (*testServer) Unparkable(*Server, string) {}

func (s *testServer) ConnTold(*Server, error) {}

func (s *testServer) ConnClosed(c *Server, err error) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	select {
	case s.closed <- err:
	default:
	}
}

// listen listens on network, of which "memory" is one for bubbles of testing/synctest.
func listen(t testing.TB, network string) (net.Listener, error) {
	switch network {
	case "memory":
		return bufconn.Listen(1 << 20), nil
	case "unix":
		return testutils.Listen(t, network), nil
	}
	return net.Listen(network, "127.0.0.1:0")
}

func startServer(t testing.TB, network string, cfg ServerConfig, handle func(*ServerStream)) *testServer {
	t.Helper()
	lis, err := listen(t, network)
	if err != nil {
		t.Fatal(err)
	}
	return startServerOn(t, lis, cfg, handle)
}

func startServerOn(t testing.TB, lis net.Listener, cfg ServerConfig, handle func(*ServerStream)) *testServer {
	t.Helper()
	if cfg.MaxRecvMsgSize == 0 {
		cfg.MaxRecvMsgSize = 4 << 20
	}
	s := &testServer{t: t, lis: lis, cfg: cfg, handle: handle, conns: map[*Server]struct{}{}, closed: make(chan error, 16)}
	s.cfg.Prepare()
	s.wg.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *testServer) accept() {
	for {
		nc, err := s.lis.Accept()
		if err != nil {
			return
		}
		c := NewServer(context.Background(), nc, &peer.Peer{Addr: nc.RemoteAddr(), LocalAddr: nc.LocalAddr()}, &ServerHost{ServerConfig: &s.cfg, Handler: s})
		c.Watch()
		s.mu.Lock()
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		c.Start()
	}
}

func (s *testServer) each(f func(*Server)) {
	s.mu.Lock()
	var all []*Server
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}

func (s *testServer) stop() {
	s.lis.Close()
	s.wg.Wait()
	s.each(func(c *Server) { c.Close(errors.New("test over")) })
}

func (s *testServer) addr() resolver.Address {
	a := s.lis.Addr().String()
	if s.lis.Addr().Network() == "unix" {
		a = "unix:" + a
	}
	return resolver.Address{Addr: a}
}

// noted records a client's events.
type noted struct {
	draining chan string
	closed   chan error
}

func (n *noted) Begun(*Client)       {}
func (n *noted) Places(uint32)       {}
func (n *noted) Unparkable(string)   {}
func (n *noted) Draining(why GoAway) { n.draining <- why.Debug() }
func (n *noted) Closed(err error)    { n.closed <- err }
func (n *noted) Told(error)          {}

func newNoted() *noted {
	return &noted{draining: make(chan string, 4), closed: make(chan error, 1)}
}

func (s *testServer) dial(cfg *ClientConfig) (*Client, *noted) {
	s.t.Helper()
	return s.connect(s.prepare(cfg))
}

// dialMany returns clients that have one configuration, as those of one channel.
func (s *testServer) dialMany(n int) (all []*Client) {
	s.t.Helper()
	cfg := s.prepare(nil)
	for range n {
		c, _ := s.connect(cfg)
		all = append(all, c)
	}
	return all
}

func (s *testServer) prepare(cfg *ClientConfig) *ClientConfig {
	if cfg == nil {
		cfg = &ClientConfig{UserAgent: "test/1"}
	}
	if lis, ok := s.lis.(*bufconn.Listener); ok {
		cfg.Dial = func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }
	}
	cfg.Prepare()
	return cfg
}

func (s *testServer) connect(cfg *ClientConfig) (*Client, *noted) {
	s.t.Helper()
	n := newNoted()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := Connect(ctx, s.addr(), "example.test", ConnectParams{Config: cfg, Events: n, Watch: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close(nil) })
	return c, n
}

// needsParking skips a test of connections that park where they do not.
func needsParking(t testing.TB) {
	t.Helper()
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("connections do not park")
	}
}

func payload(b []byte) Payload { return Payload{Data: OnePiece(mem.SliceBuffer(b))} }

// echoUnary answers a call with its own message.
func echoUnary(s *ServerStream) {
	m, err := s.Recv()
	if err != nil {
		_ = s.Finish(nil)
		return
	}
	_ = s.Reply(Payload{Data: OnePiece(m.Data.Buffer())})
}

// echoStream answers each message with itself, until the client has said all.
func echoStream(s *ServerStream) {
	for {
		m, err := s.Recv()
		if err == io.EOF {
			_ = s.Finish(nil)
			return
		}
		if err != nil {
			abort(s, frame.Cancel)
			return
		}
		if s.Send(Payload{Data: OnePiece(m.Data.Buffer())}) != nil {
			abort(s, frame.Cancel)
			return
		}
	}
}

func unary(ctx context.Context, c *Client, msg []byte) ([]byte, error) {
	p := payload(msg)
	st, err := c.NewStream(ctx, &Call{Method: "/test.Echo/Unary", MaxRecvMsgSize: 64 << 20}, &p, true)
	if err != nil {
		return nil, err
	}
	st.AwaitEnd()
	m, err := st.Recv()
	if err != nil {
		return nil, st.Status().Err()
	}
	out := append([]byte(nil), m.Data.ReadOnlyData()...)
	m.Data.Free()
	if _, err := st.Recv(); err != io.EOF {
		return nil, errors.New("more than one reply")
	}
	return out, st.Status().Err()
}

// abort ends a call without a status: the client sees code.
func abort(s *ServerStream, code frame.ErrCode) {
	s.h2.Reset(code)
	s.release(false)
}
