// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/tap"
)

func TestServerUnary(t *testing.T) {
	c := connect(t, serve(t, newEcho()))
	for range 3 {
		c.unary(context.Background(), "hello").want(t, "hello")
	}
	c.unary(context.Background(), "").want(t, "")
}

func TestServerManyCalls(t *testing.T) {
	c := connect(t, serve(t, newEcho()))
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 20 {
				c.unary(context.Background(), "hello").want(t, "hello")
			}
		})
	}
	wg.Wait()
}

func TestServerUnknownMethods(t *testing.T) {
	c := connect(t, serve(t, newEcho()))
	long := strings.Repeat("x", 8<<10)
	for _, test := range []struct{ method, message string }{
		{"/test.Nobody/Unary", "unknown service test.Nobody"},
		{"/test.Echo/Nothing", "unknown method Nothing for service test.Echo"},
		{"/a/b/c", "unknown service a/b"},
		{"/only", `malformed method name: "/only"`},
		{"/" + long, `malformed method name: "/` + long[:255] + `..."`},
		{"/" + long + "/Unary", "unknown service " + long[:256] + "..."},
		{"/test.Echo/" + long, "unknown method " + long[:256] + "... for service test.Echo"},
	} {
		c.unaryCall(context.Background(), transport.Call{Method: test.method}, payload(t, "x", nil)).
			wantStatus(t, codes.Unimplemented, test.message)
	}
}

// TestServerRefusesUnobserved: a call of an unknown method needs a goroutine only where
// somebody may look at it.
func TestServerRefusesUnobserved(t *testing.T) {
	const unknown = "/test.Nobody/Unary"
	for _, tt := range []struct {
		name, path string
		opt        ServerOption
		want       codes.Code
	}{
		{"unknown", unknown, nil, codes.Unimplemented},
		{"known", "/test.Echo/Unary", nil, codes.OK},
		{"stats", unknown, StatsHandler(muteStats{}), codes.OK},
		{"tap", unknown, InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) { return ctx, nil }), codes.OK},
		{"handler", unknown, UnknownServiceHandler(func(any, ServerStream) error { return nil }), codes.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var opts []ServerOption
			if tt.opt != nil {
				opts = append(opts, tt.opt)
			}
			s := NewServer(opts...)
			defer s.Stop()
			s.RegisterService(&echoDesc, newEcho())
			if got := s.refuse(calledPath(tt.path)).Code(); got != tt.want {
				t.Errorf("refused with %v, want %v", got, tt.want)
			}
		})
	}
}

// calledPath is a call of which only its :path is known.
type calledPath string

func (p calledPath) Method() string        { return string(p) }
func (calledPath) Known() transport.Method { return nil }

func TestServerUnknownServiceHandler(t *testing.T) {
	handle := func(srv any, ss ServerStream) error {
		if srv != nil {
			t.Errorf("srv = %v", srv)
		}
		name, ok := MethodFromServerStream(ss)
		if !ok {
			t.Error("the stream has no method")
		}
		m := new(text)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		return ss.SendMsg(&text{Value: name + " " + m.Value})
	}
	var seen []StreamServerInfo
	look := func(srv any, ss ServerStream, info *StreamServerInfo, h StreamHandler) error {
		seen = append(seen, *info)
		return h(srv, ss)
	}
	c := connect(t, serve(t, newEcho(), UnknownServiceHandler(handle), StreamInterceptor(look)))
	for _, method := range []string{"/test.Nobody/Do", "/test.Echo/Nothing"} {
		c.unaryCall(context.Background(), transport.Call{Method: method}, payload(t, "x", nil)).want(t, method+" x")
	}
	want := []StreamServerInfo{{"/test.Nobody/Do", true, true}, {"/test.Echo/Nothing", true, true}}
	if !slices.Equal(seen, want) {
		t.Errorf("interceptor saw %v, want %v", seen, want)
	}
}

func TestServerGetServiceInfo(t *testing.T) {
	s := NewServer()
	if got := s.GetServiceInfo(); len(got) != 0 {
		t.Errorf("a new server has %v", got)
	}
	s.RegisterService(&echoDesc, newEcho())
	got := s.GetServiceInfo()["test.Echo"]
	if got.Metadata != "echo.proto" {
		t.Errorf("Metadata = %v", got.Metadata)
	}
	want := []MethodInfo{
		{Name: "Unary"},
		{Name: "Bidi", IsClientStream: true, IsServerStream: true},
		{Name: "Down", IsServerStream: true},
		{Name: "Up", IsClientStream: true},
	}
	if !slices.Equal(got.Methods, want) {
		t.Errorf("Methods = %v, want %v", got.Methods, want)
	}
}

func TestServerStopped(t *testing.T) {
	for _, stop := range []func(*Server){(*Server).Stop, (*Server).GracefulStop} {
		s := NewServer()
		stop(s)
		stop(s)
		lis := listen(t)
		if err := s.Serve(lis); !errors.Is(err, ErrServerStopped) {
			t.Errorf("Serve after Stop: %v", err)
		}
		if _, err := lis.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener was left open: %v", err)
		}
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	return lis
}

// acceptErrors is a listener that only fails.
type acceptErrors struct {
	errs   []error
	closed bool
}

func (l *acceptErrors) Accept() (net.Conn, error) {
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}
func (l *acceptErrors) Close() error   { l.closed = true; return nil }
func (l *acceptErrors) Addr() net.Addr { return &net.TCPAddr{} }

type temporaryError struct{}

func (temporaryError) Error() string   { return "it will pass" }
func (temporaryError) Temporary() bool { return true }

func TestServeAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		final := errors.New("final")
		lis := &acceptErrors{errs: []error{temporaryError{}, temporaryError{}, temporaryError{}, final}}
		s := NewServer()
		if err := s.Serve(lis); !errors.Is(err, final) {
			t.Errorf("Serve: %v, want %v", err, final)
		}
		if !lis.closed {
			t.Error("the listener was left open")
		}
		s.Stop()
	})
}

func TestServeListenerClosedByItsOwner(t *testing.T) {
	lis := listen(t)
	s := NewServer()
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	if err := within(t, served, "Serve"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	s.GracefulStop()
}

func TestServeSeveralListeners(t *testing.T) {
	ts := serve(t, newEcho())
	lis := listen(t)
	served := make(chan error, 1)
	go func() { served <- ts.Serve(lis) }()
	second := &testServer{Server: ts.Server, addr: lis.Addr().String()}
	connect(t, second).unary(context.Background(), "b").want(t, "b")
	connect(t, ts).unary(context.Background(), "a").want(t, "a")
	ts.Stop()
	if err := within(t, served, "the second Serve"); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// blocked is a service whose handlers tell when they begin and then wait for
// their context, or for release.
type blocked struct {
	began    chan context.Context
	released chan struct{}
	ended    chan struct{}
}

func newBlocked() (*echo, *blocked) {
	b := &blocked{make(chan context.Context, 1), make(chan struct{}), make(chan struct{}, 1)}
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		b.began <- ctx
		<-b.released
		b.ended <- struct{}{}
		return m, nil
	}
	return e, b
}

func TestStopCancelsHandlers(t *testing.T) {
	e, b := newBlocked()
	ts := serve(t, e)
	c := connect(t, ts)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	r.send("x")
	r.closeSend()
	ctx := within(t, b.began, "the handler")
	ts.Stop() // does not wait for the handler
	within(t, ctx.Done(), "its context")
	r.wantEnd(codes.Unavailable, "")
	within(t, c.events.closed, "the connection's end")
	close(b.released)
	within(t, b.ended, "the handler's end")
}

func TestStopWaitsForHandlers(t *testing.T) {
	e, b := newBlocked()
	ts := serve(t, e, WaitForHandlers(true))
	c := connect(t, ts)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	r.send("x")
	r.closeSend()
	ctx := within(t, b.began, "the handler")
	stopped := make(chan struct{})
	go func() { ts.Stop(); close(stopped) }()
	within(t, ctx.Done(), "its context")
	within(t, c.events.closed, "the connection's end")
	select {
	case <-stopped:
		t.Fatal("Stop returned before the handler did")
	default:
	}
	close(b.released)
	within(t, stopped, "Stop")
	within(t, b.ended, "the handler's end") // it is there already
}

func TestGracefulStop(t *testing.T) {
	e, b := newBlocked()
	ts := serve(t, e)
	c := connect(t, ts)
	idle := connect(t, ts)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	r.send("x")
	r.closeSend()
	within(t, b.began, "the handler")
	stopped := make(chan struct{})
	go func() { ts.GracefulStop(); close(stopped) }()
	if debug := within(t, c.events.draining, "the GOAWAY"); debug != drainReason {
		t.Errorf("GOAWAY with %q", debug)
	}
	within(t, idle.events.closed, "the idle connection's end")
	if _, err := net.Dial("tcp", ts.addr); err == nil {
		t.Error("the listener is still open")
	}
	p := payload(t, "late", nil)
	if _, err := c.NewStream(context.Background(), &transport.Call{Method: "/test.Echo/Unary"}, &p, true); !errors.Is(err, transport.ErrUnavailable) {
		t.Errorf("a new call while draining: %v", err)
	}
	select {
	case <-stopped:
		t.Fatal("GracefulStop returned before the call was over")
	default:
	}
	close(b.released)
	if m, ok := r.recv(); !ok || m != "x" {
		t.Errorf("got %q, %v", m, ok)
	}
	r.wantEnd(codes.OK, "")
	within(t, stopped, "GracefulStop")
}

func TestStopCutsGracefulStopShort(t *testing.T) {
	e, b := newBlocked()
	ts := serve(t, e)
	c := connect(t, ts)
	r := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	r.send("x")
	r.closeSend()
	within(t, b.began, "the handler")
	graceful := make(chan struct{})
	go func() { ts.GracefulStop(); close(graceful) }()
	within(t, c.events.draining, "the GOAWAY")
	ts.Stop()
	r.wantEnd(codes.Unavailable, "")
	close(b.released) // GracefulStop waits for handlers in any case
	within(t, graceful, "GracefulStop")
}

func TestStopsRace(t *testing.T) {
	for range 20 {
		ts := serve(t, newEcho())
		c := connect(t, ts)
		var wg sync.WaitGroup
		for _, f := range []func(){ts.Stop, ts.GracefulStop, ts.Stop, ts.GracefulStop} {
			wg.Go(f)
		}
		wg.Go(func() {
			p := payload(t, "x", nil)
			s, err := c.NewStream(context.Background(), &transport.Call{Method: "/test.Echo/Unary"}, &p, true)
			if err == nil {
				s.AwaitEnd()
				s.Fail(nil)
			}
		})
		wg.Wait()
	}
}

func TestRegisteredMethods(t *testing.T) {
	s := NewServer()
	s.RegisterService(&echoDesc, newEcho())
	want := []string{"/test.Echo/Bidi", "/test.Echo/Down", "/test.Echo/Unary", "/test.Echo/Up"}
	if got := slices.Sorted(maps.Keys(s.methods)); !slices.Equal(got, want) {
		t.Errorf("methods = %v, want %v", got, want)
	}
}

func TestRegisterServiceErrors(t *testing.T) {
	type needed interface{ Needed() }
	for name, register := range map[string]func(){
		"twice": func() {
			s := NewServer()
			s.RegisterService(&echoDesc, newEcho())
			s.RegisterService(&echoDesc, newEcho())
		},
		"wrong type": func() {
			NewServer().RegisterService(&ServiceDesc{ServiceName: "s", HandlerType: (*needed)(nil)}, newEcho())
		},
		"after Serve": func() { serve(t, newEcho()).afterFirst(t).RegisterService(&ServiceDesc{ServiceName: "s"}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(diesMark) != "" {
				register()
				return // too far
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestRegisterServiceErrors$/^"+strings.ReplaceAll(name, " ", "_")+"$")
			cmd.Env = append(os.Environ(), diesMark+"=1", "GRPC_GO_LOG_SEVERITY_LEVEL=error")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "FATAL") {
				t.Errorf("the program went on: %v\n%s", err, out)
			}
		})
	}
}

const diesMark = "GRPC_TEST_DIES"

// afterFirst returns the server when it is known to serve.
func (s *testServer) afterFirst(t *testing.T) *Server {
	connect(t, s).unary(context.Background(), "x").want(t, "x")
	return s.Server
}
