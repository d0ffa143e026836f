// SPDX-License-Identifier: Apache-2.0

package readyreader

import "net"

// IsSocket reports whether conn is no layer but exactly a TCP or unix socket: what its
// descriptor carries is what its Read returns, and what it took is with the system.
//
// It goes by exact type on purpose. A wrapper that embeds a socket (credentials,
// metering, proxy protocol) has the socket's SyscallConn promoted to its own method set,
// yet its Read may decrypt or skip a prefix: reading the descriptor would hand out
// ciphertext as if it were plaintext. See embed.go for those that do nothing of the kind.
func IsSocket(conn net.Conn) bool {
	switch c := conn.(type) {
	case *net.TCPConn:
		return c != nil
	case *net.UnixConn:
		// Only the stream kind: a zero-length datagram is not the end.
		return c != nil && c.LocalAddr() != nil && c.LocalAddr().Network() == "unix"
	}
	return false
}
