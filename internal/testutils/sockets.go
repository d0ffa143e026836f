// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Listen listens on "tcp" at a free port of the loopback interface, or on "unix" at a path
// of its own, until the test ends. Where the system has no unix sockets, as Wine has not,
// it is TCP as well; the listener's address says so.
func Listen(t testing.TB, network string) net.Listener {
	t.Helper()
	if network == "unix" {
		// t.TempDir may exceed a unix path's length, and Wine can't remove what it made.
		dir, err := os.MkdirTemp("", "s")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err == nil {
			t.Cleanup(func() { l.Close() })
			return l
		}
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Sockets returns the two ends of a new connection over network, as for Listen. They are
// closed with the test.
func Sockets(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	l := Listen(t, network)
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
