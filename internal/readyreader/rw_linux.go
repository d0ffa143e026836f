// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan

package readyreader

import (
	"syscall"
	"unsafe"

	"google.golang.org/grpc/internal/pulse"
)

// little is how many bytes at most a call takes that the scheduler is not told of: it should
// be done in some microseconds. A connection under TLS is read into buffers of this size.
const little = 64 << 10

func sysRead(fd int, p []byte) (int, error) {
	if pulse.On() && len(p) <= little {
		return sysRaw(syscall.SYS_READ, fd, p)
	}
	return syscall.Read(fd, p)
}

func sysWrite(fd int, p []byte) (int, error) {
	if pulse.On() && len(p) <= little {
		return sysRaw(syscall.SYS_WRITE, fd, p)
	}
	return syscall.Write(fd, p)
}

// announceWrite is for the race detector, which is not there.
func announceWrite() {}

// sysRaw is one call, of which the scheduler is not told. p is not empty.
func sysRaw(trap uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
