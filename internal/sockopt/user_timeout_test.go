// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"crypto/tls"
	"net"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// What has no TCP socket is left alone.
func TestNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	u, _ := testutils.Sockets(t, "unix")
	closed, _ := testutils.Sockets(t, "tcp")
	closed.Close()
	for _, conn := range []net.Conn{
		a, tls.Client(a, &tls.Config{ServerName: "x"}), u, closed,
		around{nil},
		hidden{nowhere{}, a},
	} {
		SetUserTimeout(conn, time.Second) // it must not panic
	}
}

type around struct{ net.Conn }

// hidden keeps its socket to itself, but for the descriptor.
type hidden struct {
	syscall.Conn
	conn
}

type conn = net.Conn

type nowhere struct{}

func (nowhere) SyscallConn() (syscall.RawConn, error) { return nil, syscall.EINVAL }
