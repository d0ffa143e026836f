// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// forEachNetwork runs f as a subtest over each kind of plain socket.
func forEachNetwork(t *testing.T, f func(t *testing.T, network string)) {
	t.Helper()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) { f(t, network) })
	}
}

// connPair returns two connected sockets that are closed with the test.
func connPair(t testing.TB, network string) (a, b net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "rr") // t.TempDir may exceed a unix path's length
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		addr = filepath.Join(dir, "s")
	}
	l, err := net.Listen(network, addr)
	if err != nil && network == "unix" && runtime.GOOS == "windows" {
		t.Skip("no unix sockets on this system: ", err) // Wine has none
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// needsDescriptor skips a test of what is read on a descriptor where none can be.
func needsDescriptor(t testing.TB) {
	switch runtime.GOOS {
	case "plan9", "js", "wasip1":
		t.Skip("no reads on the descriptor here")
	}
}

func mustWrite(t testing.TB, c net.Conn, p string) {
	t.Helper()
	if _, err := c.Write([]byte(p)); err != nil {
		t.Fatal(err)
	}
}

type halfCloser interface{ CloseWrite() error }

func closeWrite(t testing.TB, c net.Conn) {
	t.Helper()
	if err := c.(halfCloser).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}
