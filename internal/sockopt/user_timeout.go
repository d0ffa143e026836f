// SPDX-License-Identifier: Apache-2.0

// Package sockopt sets options of the TCP sockets that carry connections.
package sockopt

import (
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/readyreader"
)

// SetUserTimeout bounds how long data that was sent over conn may stay unacknowledged before the system
// closes the connection (gRFC A18). It looks through layers of TLS and wrappers for the TCP socket. If
// there is none, or the system has no such option, it does nothing: then the end of a lost connection is
// only noticed later.
//
//	system            option                 unit
//	Linux             TCP_USER_TIMEOUT       1 ms
//	macOS             TCP_RXT_CONNDROPTIME   1 s
//	FreeBSD 14        TCP_MAXUNACKTIME       1 s
//	Windows           TCP_MAXRT              1 s
//	Solaris, illumos  TCP_ABORT_THRESHOLD    1 ms
//
// Other systems (NetBSD, OpenBSD, DragonFly BSD, AIX) have no such option. Seconds are rounded up. A d
// below one millisecond leaves the system's default.
func SetUserTimeout(conn net.Conn, d time.Duration) {
	if !hasUserTimeout || d < time.Millisecond {
		return
	}
	s := socketOf(conn)
	if s == nil {
		return
	}
	rc, err := s.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = rc.Control(func(fd uintptr) { // likewise
		_ = setUserTimeout(fd, d) // an older system has no such option
	})
}

// socketOf returns a value that gives access to the TCP socket below conn, or nil if nothing does.
func socketOf(conn net.Conn) syscall.Conn {
	switch s := readyreader.SocketBelow(conn).(type) {
	case *net.TCPConn:
		return s
	case nil:
		s2, _ := conn.(syscall.Conn) // a wrapper that keeps its socket to itself
		return s2
	}
	return nil
}
