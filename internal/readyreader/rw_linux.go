// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan

package readyreader

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"google.golang.org/grpc/internal/pulse"
)

// much is how many bytes a system call may move at most if Go's scheduler is not told of it. Such a call
// should take no more than a tenth of a millisecond: a garbage collection may have to wait for it.
const much = 512 << 10

func sysRead(fd int, p []byte) (n int, err error) {
	if pulse.On() && len(p) <= much {
		return sysRaw(syscall.SYS_READ, fd, p)
	}
	return syscall.Read(fd, p)
}

func sysWrite(fd int, p []byte) (n int, err error) {
	if pulse.On() && len(p) <= much {
		return sysRaw(syscall.SYS_WRITE, fd, p)
	}
	return syscall.Write(fd, p)
}

// sysWriteVector writes the pieces in v. The scheduler is told of it: it takes long beside what that costs.
func sysWriteVector(fd uintptr, v *unix.Iovec, count int) (n int, errno syscall.Errno) {
	r, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(v)), uintptr(count))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// sysRaw makes one system call without telling the scheduler. p is not empty.
func sysRaw(trap uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
