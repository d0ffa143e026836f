// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// sourceOption is how a package of this module brings a user-made Source.
type sourceOption struct {
	EmptyServerOption
	f      func(rpcconfig.Conn) (rpcconfig.Router, error)
	admits func(net.Conn) bool // nil: all
}

func (o sourceOption) ServerRPCConfig() rpcconfig.Source                 { return o }
func (o sourceOption) Router(c rpcconfig.Conn) (rpcconfig.Router, error) { return o.f(c) }
func (o sourceOption) Admit(accepted net.Conn) bool                      { return o.admits == nil || o.admits(accepted) }

type routedKey struct{}

// routing lets RPCs pass whose metadata has "pass", with what that says in their context.
func routing(ctx context.Context, method string) (context.Context, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if len(md["pass"]) == 0 {
		return nil, status.Errorf(codes.PermissionDenied, "%s may not pass", method)
	}
	if _, ok := peer.FromContext(ctx); !ok {
		return nil, status.Error(codes.Internal, "no peer")
	}
	return context.WithValue(ctx, routedKey{}, md["pass"][0]), nil
}

func TestRouter(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		if err := SetHeader(ctx, metadata.Pairs("still", "works")); err != nil {
			return nil, err
		}
		v, _ := ctx.Value(routedKey{}).(string)
		return &text{Value: v}, nil
	}
	e.stream = func(ss ServerStream) error {
		v, _ := ss.Context().Value(routedKey{}).(string)
		return ss.SendMsg(&text{Value: v})
	}
	for _, opts := range [][]ServerOption{nil, {StatsHandler(&taggedContext{})}} {
		s := serve(t, e, append(opts, sourceOption{f: func(rpcconfig.Conn) (rpcconfig.Router, error) {
			return rpcconfig.Filters{routing}, nil
		}})...)
		cc := newTestClient(t, s.addr)
		if err := call(testContext(t), cc, "x"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%v, want PermissionDenied", err)
		}
		ctx := metadata.AppendToOutgoingContext(testContext(t), "pass", "ticket")
		var header metadata.MD
		if err := call(ctx, cc, "ticket", Header(&header)); err != nil || len(header["still"]) != 1 {
			t.Errorf("%v, %v", err, header)
		}
		st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		m := new(text)
		if err := st.RecvMsg(m); err != nil || m.Value != "ticket" {
			t.Errorf("%q, %v", m.Value, err)
		}
		if err := cc.Invoke(testContext(t), "/test.Echo/None", m, m); status.Code(err) != codes.Unimplemented {
			t.Errorf("an unknown method: %v", err)
		}
	}
}

// TestRouterPerConnection: each connection has a Router of its own, may have none, or be
// refused.
func TestRouterPerConnection(t *testing.T) {
	var mu sync.Mutex
	var accepted []net.Conn
	s := serve(t, newEcho(), sourceOption{f: func(c rpcconfig.Conn) (rpcconfig.Router, error) {
		mu.Lock()
		defer mu.Unlock()
		accepted = append(accepted, c.Accepted)
		switch len(accepted) {
		case 1:
			return nil, nil
		case 2:
			return rpcconfig.Filters{routing}, nil
		}
		return nil, errors.New("no filter chain fits")
	}})
	free, routed, refused := newTestClient(t, s.addr), newTestClient(t, s.addr), newTestClient(t, s.addr)
	if err := call(testContext(t), free, "x"); err != nil {
		t.Error(err)
	}
	if err := call(testContext(t), routed, "x"); status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	if err := call(testContext(t), refused, "x"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	if err := call(testContext(t), free, "x"); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if _, ok := accepted[0].(*net.TCPConn); !ok {
		t.Errorf("the Source got a %T, not what the listener returned", accepted[0])
	}
}

// TestRouterDrains: a connection that is drained keeps its RPCs, and gets no more.
func TestRouterDrains(t *testing.T) {
	conns := make(chan rpcconfig.Conn, 2)
	s := serve(t, newEcho(), sourceOption{f: func(c rpcconfig.Conn) (rpcconfig.Router, error) {
		conns <- c
		return nil, nil
	}})
	cc := newTestClient(t, s.addr)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	ping := func() {
		t.Helper()
		m := new(text)
		if err := st.SendMsg(&text{Value: "x"}); err != nil {
			t.Fatal(err)
		}
		if err := st.RecvMsg(m); err != nil || m.Value != "x" {
			t.Fatal(m.Value, err)
		}
	}
	ping()
	first := within(t, conns, "the first connection")
	first.Drain()
	first.Drain()
	if !cc.WaitForStateChange(testContext(t), connectivity.Ready) {
		t.Fatal("the client does not hear of it")
	}
	ping()
	if err := call(testContext(t), cc, "elsewhere"); err != nil {
		t.Error(err)
	}
	within(t, conns, "the second connection")
	ping()
}

// TestRouterDrainsEarly: a Source may change its mind while it is being asked.
func TestRouterDrainsEarly(t *testing.T) {
	first := true
	s := serve(t, newEcho(), sourceOption{f: func(c rpcconfig.Conn) (rpcconfig.Router, error) {
		if first {
			c.Drain()
		}
		first = false
		return nil, nil
	}})
	c := connect(t, s)
	if debug := within(t, c.events.draining, "GOAWAY"); debug != reconfigured {
		t.Errorf("GOAWAY says %q", debug)
	}
	if err := call(testContext(t), newTestClient(t, s.addr), "x"); err != nil {
		t.Error(err)
	}
}

// unrelatedTags are stats handlers whose TagRPC returns a context that is not made of the RPC's.
type unrelatedTags struct{ quietStats }

func (unrelatedTags) TagRPC(context.Context, *stats.RPCTagInfo) context.Context {
	return context.Background()
}

// TestRouterIsNotLost: an RPC whose context a tap or a stats handler has lost does not pass by the Router, which may authorize.
func TestRouterIsNotLost(t *testing.T) {
	for name, opt := range map[string]ServerOption{
		"tap":           InTapHandle(func(context.Context, *tap.Info) (context.Context, error) { return context.Background(), nil }),
		"stats handler": StatsHandler(unrelatedTags{}),
	} {
		s := serve(t, newEcho(), opt, sourceOption{f: func(rpcconfig.Conn) (rpcconfig.Router, error) {
			return rpcconfig.Filters{func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }}, nil
		}})
		if err := call(testContext(t), newTestClient(t, s.addr), "x"); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "lacks the metadata") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
