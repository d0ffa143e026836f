// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport

import (
	"net"
	"os"
	"syscall"
)

// lookAhead waits for input on nc and copies to p what has arrived, which is still to be read. Reading an
// answer of 16 KB byte by byte would take as many system calls. n is 1 if the system can't tell, and if a
// read will tell more.
func lookAhead(nc net.Conn, p []byte) (n int, err error) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return 1, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 1, nil
	}
	var failed error
	_ = raw.Read(func(fd uintptr) (done bool) {
		n, failed = peek(int(fd), p)
		return failed != syscall.EAGAIN
	})
	if failed != nil && failed != syscall.EAGAIN { // a read would not find it any more
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: tcp.LocalAddr(), Addr: tcp.RemoteAddr(), Err: os.NewSyscallError("read", failed)}
	}
	return max(n, 1), nil
}

func peek(fd int, p []byte) (n int, err error) {
	for {
		n, _, err = syscall.Recvfrom(fd, p, syscall.MSG_PEEK)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
