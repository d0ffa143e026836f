// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// listen listens on an address on which another process may listen, too.
func listen(addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		if cerr := rc.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}); cerr != nil {
			return cerr
		}
		return err
	}}
	return lc.Listen(context.Background(), "tcp", addr)
}
