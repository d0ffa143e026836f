// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
)

// What follows are types of programs that can't be compared: to use them as keys, or
// with ==, panics.

type funcListener struct{ testutils.WrapListener }

func (l funcListener) Addr() net.Addr { return sliceAddr{l.Listener.Addr(), []string{"x"}} }

type funcConn struct {
	net.Conn
	closed func()
}

func (c funcConn) RemoteAddr() net.Addr { return sliceAddr{c.Conn.RemoteAddr(), nil} }
func (c funcConn) LocalAddr() net.Addr  { return sliceAddr{c.Conn.LocalAddr(), nil} }

type sliceAddr struct {
	net.Addr
	notes []string
}

type sliceStats struct{ notes []string }

func (sliceStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (sliceStats) HandleRPC(context.Context, stats.RPCStats)                         {}
func (sliceStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sliceStats) HandleConn(context.Context, stats.ConnStats)                       {}

// TestServeIncomparable: listeners, connections, addresses and handlers of a program are
// values to hold, never keys.
func TestServeIncomparable(t *testing.T) {
	s := NewServer(StatsHandler(sliceStats{[]string{"x"}}))
	s.RegisterService(&echoDesc, newEcho())
	served := make(chan error, 2)
	for range 2 {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := funcListener{testutils.WrapListener{Listener: lis, Wrap: func(nc net.Conn) net.Conn { return funcConn{nc, func() {}} }}}
		go func() { served <- s.Serve(l) }()
		ts := &testServer{s, lis.Addr().String(), nil}
		connect(t, ts).unary(t.Context(), "hello").want(t, "hello")
	}
	s.Stop()
	for range 2 {
		if err := within(t, served, "Serve"); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}
