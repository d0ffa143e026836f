// SPDX-License-Identifier: Apache-2.0

package servercontrol_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const streamMethod = "/grpc.testing.TestService/FullDuplexCall"

// untilEnd serves a stream until its client ends it.
func untilEnd(st testservice.Duplex) error {
	if err := st.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	_, err := st.Recv()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// GracefulStop ends with its context, says what is left, and can be called again.
func TestWishGracefulStopUntil(t *testing.T) {
	for name, start := range map[string]func(testing.TB, *testservice.Functions, ...grpc.ServerOption) *testservice.Service{
		"tcp": testservice.Start, "net/http": testservice.StartHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			var c servercontrol.Control
			s := start(t, &testservice.Functions{Stream: untilEnd}, c.Option())
			_, client := s.Dial(t)
			st := testservice.Begin(t, client)

			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
			err := c.GracefulStop(ctx)
			left, ok := errors.AsType[*servercontrol.UnfinishedError](err)
			if !ok || !errors.Is(err, cause) {
				t.Fatalf("GracefulStop returned %v", err)
			}
			if len(left.RPCs) != 1 || left.RPCs[0].Method != streamMethod || left.RPCs[0].Peer.Addr == nil || left.RPCs[0].Began.IsZero() {
				t.Errorf("%+v is left", left.RPCs)
			}
			if want := map[string]int{"tcp": 1}[name]; left.Conns != want {
				t.Errorf("%d connections are left, want %d", left.Conns, want)
			}
			if text := err.Error(); !strings.Contains(text, "1 RPCs") || !strings.Contains(text, streamMethod) || !strings.Contains(text, "127.0.0.1:") {
				t.Errorf("the error says %q", text)
			}

			if err := st.CloseSend(); err != nil { // the stream works on
				t.Fatal(err)
			}
			if _, err := st.Recv(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if err := c.GracefulStop(testservice.Context(t)); err != nil {
				t.Error(err)
			}
			if len(c.RPCs()) > 0 || len(c.Conns()) > 0 {
				t.Errorf("%v and %v are left of nothing", c.RPCs(), c.Conns())
			}
		})
	}
}

// A connection that has said nothing is not waited for: its client would take 5 s to be given up.
func TestWishGracefulStopLeavesTheSilent(t *testing.T) {
	var c servercontrol.Control
	s := testservice.Start(t, &testservice.Functions{}, c.Option())
	raw, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	buf := make([]byte, 9)
	if _, err := io.ReadFull(raw, buf); err != nil { // the server's SETTINGS: it has the connection
		t.Fatal(err)
	}
	if conns := c.Conns(); len(conns) != 1 || !conns[0].Status().Silent {
		t.Errorf("%v are open", conns)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	if err := c.GracefulStop(ctx); err != nil {
		t.Error(err)
	}
}

// A Control without a server says so.
func TestNoServer(t *testing.T) {
	var c servercontrol.Control
	if err := c.GracefulStop(context.Background()); !errors.Is(err, servercontrol.ErrNoServer) {
		t.Error(err)
	}
	if c.Conns() != nil || c.RPCs() != nil || c.Lost() != nil || c.Conn(1) != nil {
		t.Error("no server has something")
	}
}

// Connections are listed, one is drained, and one is closed.
func TestWishControlOneConnection(t *testing.T) {
	var c servercontrol.Control
	drained := make(chan struct{})
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		drain.AfterFunc(st.Context(), func() { close(drained) })
		return untilEnd(st)
	}}, c.Option())
	_, one := s.Dial(t)
	_, two := s.Dial(t)
	first, second := testservice.Begin(t, one), testservice.Begin(t, two)

	conns := c.Conns()
	if len(conns) != 2 || conns[0].ID() == conns[1].ID() || conns[0].Began().After(conns[1].Began()) {
		t.Fatalf("%v are open", conns)
	}
	for _, conn := range conns {
		if st := conn.Status(); st.Streams != 1 || st.Draining || st.Silent || st.SendWindow == 0 || conn.Peer().Addr == nil {
			t.Errorf("a connection is %+v", st)
		}
		if rpcs := conn.RPCs(); len(rpcs) != 1 || rpcs[0].Conn != conn.ID() || c.Conn(conn.ID()).ID() != conn.ID() {
			t.Errorf("a connection has the RPCs %v", rpcs)
		}
	}

	conns[0].Drain()
	testservice.Await(t, drained, "the drain")
	testservice.Await(t, drain.Client(first), "GOAWAY")
	if !conns[0].Status().Draining || conns[1].Status().Draining {
		t.Error("another connection drains")
	}
	conns[1].Close()
	if _, err := second.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream of the closed connection ended with %v", err)
	}
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream of the drained connection ended with %v", err)
	}
}

// TestRPCOutlivesItsConnection: a connection that has ended still tells which RPCs go on.
func TestRPCOutlivesItsConnection(t *testing.T) {
	var c servercontrol.Control
	end := make(chan struct{})
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		err := st.Send(&testpb.StreamingOutputCallResponse{})
		<-end
		return err
	}}, c.Option())
	defer close(end)
	_, cc := s.Dial(t)
	st := testservice.Begin(t, cc)
	conn := c.Conns()[0]
	conn.Close()
	_, _ = st.Recv()
	for deadline := time.Now().Add(time.Minute); len(c.Conns()) > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the connection stays")
		}
	}
	if rpcs := conn.RPCs(); len(rpcs) != 1 || rpcs[0].Conn != 0 {
		t.Errorf("the connection has the RPCs %v", rpcs)
	}
}
