// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/keepalive"
)

func userTimeoutOf(t *testing.T, c net.Conn) (ms int) {
	t.Helper()
	rc, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if e := rc.Control(func(fd uintptr) {
		ms, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return ms
}

// Where keepalive is on, its Timeout is that of unacknowledged data as well (gRFC A18).
func TestUserTimeout(t *testing.T) {
	cert, pool := testutils.Certificate(t)
	server := func(every, timeout time.Duration) ServerOption {
		return KeepaliveParams(keepalive.ServerParameters{Time: every, Timeout: timeout})
	}
	client := func(every, timeout time.Duration) DialOption {
		return WithKeepaliveParams(keepalive.ClientParameters{Time: every, Timeout: timeout})
	}
	secureServer := Creds(credentials.NewServerTLSFromCert(&cert))
	secureClient := WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "test.server"))
	plain := func(c net.Conn) net.Conn { return c }
	wrapped := func(c net.Conn) net.Conn { return struct{ net.Conn }{c} }
	for _, tt := range []struct {
		name           string
		server         []ServerOption
		client         []DialOption
		wrap           func(net.Conn) net.Conn
		accepted, mine int // ms
	}{
		{"defaults", nil, nil, plain, 20_000, 0},
		{"no Timeout", []ServerOption{server(time.Minute, 0)}, []DialOption{client(time.Minute, 0)}, plain, 20_000, 20_000},
		{"no Time", []ServerOption{server(0, 7*time.Second)}, []DialOption{client(0, 9*time.Second)}, plain, 7000, 9000},
		{"endless Time", []ServerOption{server(math.MaxInt64, 7*time.Second)}, []DialOption{client(math.MaxInt64, 9*time.Second)}, plain, 0, 0},
		{"wrapped", []ServerOption{server(time.Minute, 7*time.Second)}, []DialOption{client(time.Minute, 9*time.Second)}, wrapped, 7000, 9000},
		{"TLS", []ServerOption{server(time.Minute, 7*time.Second), secureServer}, []DialOption{client(time.Minute, 9*time.Second), secureClient}, plain, 7000, 9000},
		{"TLS over a wrapper", []ServerOption{server(time.Minute, 7*time.Second), secureServer}, []DialOption{client(time.Minute, 9*time.Second), secureClient}, wrapped, 7000, 9000},
		{"TLS of the program's", []ServerOption{server(time.Minute, 7*time.Second)}, []DialOption{client(time.Minute, 9*time.Second), secureClient}, func(c net.Conn) net.Conn {
			return tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
		}, 7000, 9000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			last := make(chan net.Conn, 1)
			l := testutils.WrapListener{Listener: listen(t), Wrap: func(c net.Conn) net.Conn { last <- c; return tt.wrap(c) }}
			s := serveOn(t, l, newEcho(), tt.server...)
			dialed := make(chan net.Conn, 1)
			cc := newTestClient(t, s.addr, append(tt.client, WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
				dialed <- c
				return struct{ net.Conn }{c}, err
			}))...)
			if err := call(testContext(t), cc, "x"); err != nil {
				t.Fatal(err)
			}
			if ms := userTimeoutOf(t, <-last); ms != tt.accepted {
				t.Errorf("server: %d ms, want %d", ms, tt.accepted)
			}
			if ms := userTimeoutOf(t, <-dialed); ms != tt.mine {
				t.Errorf("client: %d ms, want %d", ms, tt.mine)
			}
		})
	}
}
