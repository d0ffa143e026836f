// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"crypto/tls"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/internal/testutils"
)

func userTimeout(t *testing.T, c net.Conn) (ms int) {
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

type below struct{ net.Conn }

func (b below) NetConn() net.Conn { return b.Conn }

func TestSetUserTimeout(t *testing.T) {
	for name, layers := range map[string]func(*net.TCPConn) net.Conn{
		"a socket":            func(c *net.TCPConn) net.Conn { return c },
		"a wrapper":           func(c *net.TCPConn) net.Conn { return around{c} },
		"a pointer to one":    func(c *net.TCPConn) net.Conn { return &around{c} },
		"two wrappers":        func(c *net.TCPConn) net.Conn { return around{&around{c}} },
		"TLS":                 func(c *net.TCPConn) net.Conn { return tls.Client(c, &tls.Config{ServerName: "x"}) },
		"TLS over a wrapper":  func(c *net.TCPConn) net.Conn { return tls.Client(around{c}, &tls.Config{ServerName: "x"}) },
		"a wrapper of TLS":    func(c *net.TCPConn) net.Conn { return around{tls.Client(c, &tls.Config{ServerName: "x"})} },
		"one with NetConn":    func(c *net.TCPConn) net.Conn { return below{c} },
		"a socket's accesses": func(c *net.TCPConn) net.Conn { return hidden{c, around{nil}} },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := testutils.Sockets(t, "tcp")
			conn := layers(s.(*net.TCPConn))
			for _, tt := range []struct {
				d  time.Duration
				ms int
			}{{0, 0}, {-time.Second, 0}, {999 * time.Microsecond, 0}, {7 * time.Second, 7000}, {20 * time.Second, 20_000}} {
				SetUserTimeout(conn, tt.d)
				if ms := userTimeout(t, s); ms != tt.ms {
					t.Errorf("%v: %d ms, want %d", tt.d, ms, tt.ms)
				}
			}
		})
	}
}
