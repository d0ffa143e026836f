// SPDX-License-Identifier: Apache-2.0

//go:build unix

package wrappers

import (
	"io"
	"net"
	"os"
	"syscall"
)

// end returns io.EOF if the stream of a socket is at its end, the error that broke it if it is broken, and
// nil otherwise.
func end(c net.Conn) (err error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	_ = rc.Control(func(fd uintptr) { // a read of a closed connection fails anyway
		var b [1]byte
		n, _, errno := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		switch {
		case errno == nil && n == 0:
			err = io.EOF
		case errno != nil && errno != syscall.EAGAIN && errno != syscall.EINTR:
			err = &net.OpError{Op: "read", Net: c.LocalAddr().Network(), Err: os.NewSyscallError("recvfrom", errno)}
		}
	})
	return err
}
