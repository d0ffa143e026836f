// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxRW bounds one system call: some systems reject or cut larger transfers.
const maxRW = 1 << 30

// neverWaits makes single reads and writes of the descriptor return rather than wait. Package net makes its
// sockets so, but a program that calls File().Fd(), say to set an option, turns that back for the socket too.
func neverWaits(rc syscall.RawConn) bool {
	var err error
	cerr := rc.Control(func(fd uintptr) {
		var flags int
		if flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK == 0 {
			err = unix.SetNonblock(int(fd), true)
		}
	})
	return cerr == nil && err == nil
}

// readOnce reads once into a non-empty p: n > 0 or an error.
//
// It uses syscall.Read rather than package unix's: only the former orders reads
// and writes for the race detector through the same variable as package net.
// Programs that synchronise through the socket alone would otherwise be blamed
// for races they don't have.
func readOnce(fd int, p []byte) (int, error) {
	for {
		n, err := sysRead(fd, p[:min(len(p), maxRW)])
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF // the peer's FIN
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, ErrWouldBlock
		}
		return 0, os.NewSyscallError("read", err)
	}
}

func writeOnce(fd int, p []byte) (int, error) {
	for {
		n, err := sysWrite(fd, p[:min(len(p), maxRW)])
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.ErrUnexpectedEOF // as net.Conn reports it; no system does this
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, ErrWouldBlock
		}
		return 0, os.NewSyscallError("write", err)
	}
}

// isReadable calls poll, which leaves an error to the read. Peeking at the bytes would take the error, and
// the read after a reset would then return the end of the stream.
func isReadable(fd uintptr) bool {
	for {
		fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds[:], 0)
		if err != unix.EINTR {
			return err != nil || n > 0
		}
	}
}
