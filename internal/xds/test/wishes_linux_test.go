// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/internal/testservice"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// keeping is a listener that keeps its connections.
type keeping struct {
	net.Listener
	conns chan *net.TCPConn
}

func (k keeping) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	k.conns <- c.(*net.TCPConn)
	return c, nil
}

// wantProbes checks what the socket of a connection has.
func wantProbes(t *testing.T, c *net.TCPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		for option, want := range map[int]int{syscall.TCP_KEEPIDLE: 77, syscall.TCP_KEEPINTVL: 7, syscall.TCP_KEEPCNT: 4} {
			if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option); err != nil || got != want {
				t.Errorf("option %d is %d, %v; want %d", option, got, err, want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}

var probes = net.KeepAliveConfig{Enable: true, Idle: 77 * time.Second, Interval: 7 * time.Second, Count: 4}

// TestWishProbesOnXDSServer: the connections that a Listener takes are probed as the server's option says.
func TestWishProbesOnXDSServer(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	k := keeping{lis, make(chan *net.TCPConn, 9)}
	s := serveXDSOn(t, serverPool(t, p, ""), k, testService{}, experimental.TCPProbes(probes))
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	if _, err := s.client().EmptyCall(testservice.Context(t), &testgrpc.Empty{}); err != nil {
		t.Fatal(err)
	}
	wantProbes(t, testservice.Await(t, k.conns, "the connection"))
}

// TestWishProbesOverXDS: the connections to a cluster's servers are probed as the channel's option says.
func TestWishProbesOverXDS(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	dialed := make(chan *net.TCPConn, 9)
	dialer := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		dialed <- c.(*net.TCPConn)
		return c, nil
	})
	if got := call(t, channel(t, []grpc.DialOption{experimental.WithTCPProbes(probes), dialer}, p)); got != "a" {
		t.Error(got)
	}
	wantProbes(t, testservice.Await(t, dialed, "the connection"))
}
