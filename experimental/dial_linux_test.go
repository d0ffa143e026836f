// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/connect"
	"google.golang.org/grpc/internal/testservice"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
)

// wrapped is a connection that a listener or a dialer has wrapped.
type wrapped struct{ net.Conn }

// keeping returns a listener that keeps its connections, and wraps them.
func keeping(lis net.Listener, conns chan *net.TCPConn) net.Listener {
	return testutils.WrapListener{Listener: lis, Wrap: func(c net.Conn) net.Conn {
		conns <- c.(*net.TCPConn)
		return wrapped{c}
	}}
}

// probes returns what the socket of a connection has.
func probes(t *testing.T, c *net.TCPConn) (idle, interval, count int) {
	t.Helper()
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = rc.Control(func(fd uintptr) {
		idle, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPIDLE)
		interval, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPINTVL)
		count, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	})
	if err != nil {
		t.Fatal(err)
	}
	return idle, interval, count
}

// The system probes connections of both sides as the options say, also those that are wrapped.
func TestWishDeadPeersByProbes(t *testing.T) {
	cfg := net.KeepAliveConfig{Enable: true, Idle: 77 * time.Second, Interval: 7 * time.Second, Count: 4}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan *net.TCPConn, 1)
	begun := make(chan struct{})
	s := testservice.StartOn(t, keeping(lis, conns), &testservice.Functions{}, experimental.TCPProbes(cfg), grpc.StatsHandler(onConn{begun: begun}))
	dialed := make(chan *net.TCPConn, 1)
	cc, _ := s.Dial(t, experimental.WithTCPProbes(cfg), grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		dialed <- c.(*net.TCPConn)
		return wrapped{c}, nil
	}))
	if err := connect.Wait(testservice.Context(t), cc); err != nil {
		t.Fatal(err)
	}
	testservice.Await(t, begun, "the server's connection")
	for side, c := range map[string]*net.TCPConn{"client": <-dialed, "server": <-conns} {
		if idle, interval, count := probes(t, c); idle != 77 || interval != 7 || count != 4 {
			t.Errorf("%s: probes after %d s, every %d s, %d of them", side, idle, interval, count)
		}
	}
}

// onConn tells that a connection has begun.
type onConn struct {
	stats.Handler
	begun chan struct{}
}

func (onConn) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (h onConn) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnBegin); ok {
		close(h.begun)
	}
}
