// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"runtime"
	"testing"

	"google.golang.org/grpc/internal/testutils"
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
	return testutils.SocketsOn(t, network)
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

// overSocket reports whether nothing happens between conn and a socket: conn is a socket, or a wrapper that
// leaves reading and writing to a socket that it embeds.
func overSocket(conn net.Conn) bool {
	return isSocket(descend(conn, inward)) && isSocket(descend(conn, outward))
}
