// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// Listen listens on "tcp" at a free port of the loopback interface, or on "unix" at a path
// of its own, until the test ends. Where the system has no unix sockets, as Wine has not,
// it is TCP as well; the listener's address says so.
func Listen(t testing.TB, network string) net.Listener {
	t.Helper()
	if l := listen(t, network); l != nil {
		return l
	}
	return listen(t, "tcp")
}

// ListenOn is Listen for what differs between networks: where the system lacks one, the
// test is skipped.
func ListenOn(t testing.TB, network string) net.Listener {
	t.Helper()
	l := listen(t, network)
	if l == nil {
		t.Skipf("no %s sockets on this system", network)
	}
	return l
}

// ListenAgain listens at a TCP address that was given back before. Another process may have got its port
// meanwhile: ListenAgain waits half a minute for that to end, which nobody tells.
func ListenAgain(addr string) (lis net.Listener, err error) {
	for range 3000 {
		if lis, err = net.Listen("tcp", addr); err == nil {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	return lis, err
}

// listen returns nil if the system has no such sockets.
func listen(t testing.TB, network string) net.Listener {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		// t.TempDir may exceed a unix path's length, and Wine can't remove what it made.
		dir, err := os.MkdirTemp("", "s")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		addr = filepath.Join(dir, "s")
	}
	l, err := net.Listen(network, addr)
	if err != nil && network == "unix" && runtime.GOOS == "windows" {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// WrapListener is a listener whose connections Wrap puts something around.
type WrapListener struct {
	net.Listener
	Wrap func(net.Conn) net.Conn
}

// Accept implements net.Listener.
func (l WrapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.Wrap(c), nil
}

// Sockets returns the two ends of a new connection over network, as for Listen. They are
// closed with the test.
func Sockets(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	return connected(t, Listen(t, network))
}

// SocketsOn returns the two ends of a new connection over network, as for ListenOn. They
// are closed with the test.
func SocketsOn(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	return connected(t, ListenOn(t, network))
}

// connected connects to l, and closes it.
func connected(t testing.TB, l net.Listener) (client, server net.Conn) {
	t.Helper()
	defer l.Close()
	client, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		client.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}
