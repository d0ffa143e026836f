// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/flowcontrol"
	"google.golang.org/grpc/experimental/limits"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/internal/testservice"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// serveFunctions starts a server on 127.0.0.1.
func serveFunctions(t *testing.T, p *plane, f *testservice.Functions, opts ...grpc.ServerOption) *xdsServer {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveXDSOn(t, serverPool(t, p, ""), lis, f, opts...)
}

// saysGoodbye sends a message, another when its connection drains, and ends with its client.
func saysGoodbye(st testservice.Duplex) error {
	if err := st.Send(&testgrpc.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	drain.AfterFunc(st.Context(), func() { _ = st.Send(&testgrpc.StreamingOutputCallResponse{}) })
	if _, err := st.Recv(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// client makes a channel of its own.
func (s *xdsServer) client(opts ...grpc.DialOption) testgrpc.TestServiceClient {
	s.t.Helper()
	return testgrpc.NewTestServiceClient(s.dial("", append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("service.test"),
	}, opts...)...))
}

// quiet opens a connection on which the server has spoken, and says nothing; nil: it was closed.
func (s *xdsServer) quiet() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 9)); err != nil {
		return nil
	}
	return c
}

// TestWishDrainOnXDSServer: when the Listener goes away handlers learn that their connection drains,
// and GracefulStop(ctx) finds what is left of them. It ends the server's watches.
func TestWishDrainOnXDSServer(t *testing.T) {
	p := newPlane(t)
	var control servercontrol.Control
	s := serveFunctions(t, p, &testservice.Functions{Stream: saysGoodbye}, control.Option())
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	st := testservice.Begin(t, s.client())
	if s.quiet() == nil {
		t.Fatal("the server closed a connection")
	}
	p.set()
	s.wantMode(connectivity.ServingModeNotServing)
	if _, err := st.Recv(); err != nil {
		t.Fatalf("the handler did not learn of the drain: %v", err)
	}
	testservice.Await(t, drain.Client(st), "GOAWAY")
	rpcs := control.RPCs()
	if len(rpcs) != 1 || !control.Conn(rpcs[0].Conn).Status().Draining {
		t.Fatalf("%v are listed", rpcs)
	}

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	err := control.GracefulStop(ctx)
	left, ok := errors.AsType[*servercontrol.UnfinishedError](err)
	if !ok || !errors.Is(err, cause) || len(left.RPCs) != 1 || left.Conns < 1 {
		t.Fatalf("GracefulStop returned %v", err)
	}
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	// The connection that has said nothing is not waited for; its client would take 5 s to be given up.
	ctx4, cancel4 := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel4()
	if err := control.GracefulStop(ctx4); err != nil {
		t.Error(err)
	}
	until(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.open == 0
	})
}

// TestWishLimitsOnXDSServer: connections that no Listener takes, and RPCs that no route or filter lets
// in, do not count; those that are let in do, until their end, also while they drain.
func TestWishLimitsOnXDSServer(t *testing.T) {
	p := newPlane(t)
	p.resourceTimeout = time.Second
	limiter := limits.New(limits.Limits{Connections: 2, RPCs: 1})
	s := serveFunctions(t, p, &testservice.Functions{Stream: saysGoodbye}, limiter.Option())
	usage := func(conns, rpcs int) {
		t.Helper()
		until(t, func() bool { u := limiter.Usage(); return u.Connections == conns && u.RPCs == rpcs })
	}
	p.set()
	s.wantMode(connectivity.ServingModeNotServing)
	if s.quiet() != nil {
		t.Error("a connection was taken without a Listener")
	}
	usage(0, 0)

	p.set(s.listener(inline(takes("", "/grpc.testing.TestService/Full"))))
	s.wantMode(connectivity.ServingModeServing)
	ctx := testservice.Context(t)
	client := s.client()
	for range 3 {
		if _, err := client.EmptyCall(ctx, &testgrpc.Empty{}); status.Code(err) != codes.Unavailable {
			t.Errorf("an RPC without a route ended with %v", err)
		}
		usage(1, 0) // a moment later
	}
	st := testservice.Begin(t, client)
	usage(1, 1)
	over, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := over.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("an RPC over the limit ended with %v", err)
	}
	second := s.quiet()
	if second == nil || s.quiet() != nil {
		t.Error("two connections may be open, and no third one")
	}
	second.Close()
	usage(1, 1)

	p.set(s.listener(inline(takes("", ""), filter("rbac", everybody(rbacconfigv3.RBAC_DENY)))))
	if _, err := st.Recv(); err != nil {
		t.Fatal(err)
	}
	usage(1, 1) // it drains
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	usage(0, 0)
	until(t, func() bool { // the first may find the connection about to close
		_, err := client.EmptyCall(ctx, &testgrpc.Empty{})
		return status.Code(err) == codes.PermissionDenied
	})
	usage(1, 0)
	if u := limiter.Usage(); u.RefusedConnections != 1 || u.RefusedRPCs != 1 {
		t.Errorf("the usage is %+v", u)
	}
}

// TestWishControlOfXDSConnections: connections of an xDS server are listed, drained and closed one by
// one, and those of a Listener that was replaced beside those of the next.
func TestWishControlOfXDSConnections(t *testing.T) {
	p := newPlane(t)
	var control servercontrol.Control
	s := serveFunctions(t, p, &testservice.Functions{Stream: saysGoodbye}, control.Option())
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	one, two := testservice.Begin(t, s.client()), testservice.Begin(t, s.client())
	conns := control.Conns()
	if len(conns) != 2 {
		t.Fatalf("%v are open", conns)
	}
	for _, c := range conns {
		if st := c.Status(); st.Streams != 1 || st.Draining || st.Silent || c.Peer().Addr == nil || len(c.RPCs()) != 1 {
			t.Errorf("a connection is %+v, its RPCs are %v", st, c.RPCs())
		}
	}
	conns[0].Drain()
	if _, err := one.Recv(); err != nil {
		t.Errorf("the handler did not learn of the drain: %v", err)
	}
	testservice.Await(t, drain.Client(one), "GOAWAY")
	if !conns[0].Status().Draining || conns[1].Status().Draining {
		t.Error("another connection drains")
	}
	p.set(s.listener(inline(takes("", "/"))))
	testservice.Await(t, drain.Client(two), "GOAWAY of the Listener that was replaced")
	three := testservice.Begin(t, s.client())
	if last := control.Conns(); len(last) != 3 || !last[1].Status().Draining || last[2].Status().Draining {
		t.Errorf("%v are open", last)
	}
	conns[1].Close()
	if _, err := two.Recv(); err == nil { // it said goodbye
		_, err = two.Recv()
		if status.Code(err) != codes.Unavailable {
			t.Errorf("the stream of the closed connection ended with %v", err)
		}
	}
	for _, st := range []testservice.DuplexClient{one, three} {
		if err := st.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	until(t, func() bool { return len(control.Conns()) == 1 && len(control.RPCs()) == 0 })
}

// TestWishPanicsOnXDSServer: a handler that panics behind the filters of a Listener fails its RPC.
func TestWishPanicsOnXDSServer(t *testing.T) {
	p := newPlane(t)
	panics := make(chan experimental.Panic, 9)
	f := &testservice.Functions{
		Empty:  func(context.Context) error { panic("unary") },
		Stream: func(testservice.Duplex) error { panic("stream") },
	}
	s := serveFunctions(t, p, f, experimental.RecoverPanics(func(_ context.Context, p experimental.Panic) error { panics <- p; return nil }))
	p.set(s.listener(inline(takes("", ""), filter("rbac", everybody(rbacconfigv3.RBAC_ALLOW)))))
	s.wantMode(connectivity.ServingModeServing)
	client := s.client()
	ctx := testservice.Context(t)
	if _, err := client.EmptyCall(ctx, &testgrpc.Empty{}); status.Code(err) != codes.Internal {
		t.Errorf("the RPC ended with %v", err)
	}
	if got := testservice.Await(t, panics, "the panic"); got.Value != "unary" || got.Method != "/grpc.testing.TestService/EmptyCall" || len(got.Stack) == 0 {
		t.Errorf("the panic is %+v", got)
	}
	st, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("the stream ended with %v", err)
	}
	if got := testservice.Await(t, panics, "the panic"); got.Value != "stream" {
		t.Errorf("the panic is %+v", got)
	}
}

// TestWishSendWaitOnXDSServer: a Send to a client that does not read ends, and so does a stream whose
// handler has returned.
func TestWishSendWaitOnXDSServer(t *testing.T) {
	big := &testgrpc.StreamingOutputCallResponse{Payload: &testgrpc.Payload{Body: make([]byte, 64<<10)}}
	for name, tt := range map[string]struct {
		option   grpc.ServerOption
		roomOnly bool // the handler returns before a Send would wait
		want     codes.Code
	}{
		"send": {flowcontrol.MaxSendWait(50 * time.Millisecond), false, codes.ResourceExhausted},
		"end":  {flowcontrol.MaxEndWait(50 * time.Millisecond), true, codes.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			var control servercontrol.Control
			returned := make(chan error, 1)
			s := serveFunctions(t, p, &testservice.Functions{Stream: func(st testservice.Duplex) (err error) {
				for err == nil && (!tt.roomOnly || flowcontrol.HasRoom(st)) {
					err = st.Send(big)
				}
				returned <- err
				return err
			}}, control.Option(), tt.option)
			p.set(s.listener(inline(takes("", ""), filter("rbac", everybody(rbacconfigv3.RBAC_ALLOW)))))
			s.wantMode(connectivity.ServingModeServing)
			st, err := s.client(grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(1<<20)).FullDuplexCall(testservice.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := testservice.Await(t, returned, "the handler's end"); (err == nil) != tt.roomOnly || err != nil && status.Code(err) != tt.want {
				t.Errorf("the handler returned %v", err)
			}
			if tt.roomOnly { // its place is freed, though nobody reads
				until(t, func() bool { conns := control.Conns(); return len(conns) == 1 && conns[0].Status().Streams == 0 })
			}
			for err == nil {
				_, err = st.Recv()
			}
			if status.Code(err) != tt.want {
				t.Errorf("the stream ended with %v", err)
			}
		})
	}
}
