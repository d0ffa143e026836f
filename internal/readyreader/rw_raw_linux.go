// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan && !386 && !s390x

package readyreader

import (
	"syscall"
	"unsafe"

	"google.golang.org/grpc/internal/pulse"
)

// much is how many bytes a system call may move at most if Go's scheduler is not told of it. Such a call
// should take no more than a tenth of a millisecond: a garbage collection may have to wait for it.
const much = 512 << 10

func sysRead(fd int, p []byte) (n int, err error) {
	if pulse.On() && len(p) <= much {
		return sysRaw(syscall.SYS_RECVFROM, fd, p)
	}
	return syscall.Read(fd, p)
}

func sysWrite(fd int, p []byte) (n int, err error) {
	if pulse.On() && len(p) <= much {
		return sysRaw(syscall.SYS_SENDTO, fd, p)
	}
	return syscall.Write(fd, p)
}

// sysRaw makes one system call of a socket without telling the scheduler. p is not empty. The program may have
// put the socket into blocking mode (see neverWaits), so the call itself says that it must not wait: all
// other goroutines would wait with it.
func sysRaw(trap uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
