// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan

package readyreader

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sysWriteVector writes the pieces in v. The scheduler is told of it: it takes long beside what that costs.
func sysWriteVector(fd uintptr, v *unix.Iovec, count int) (n int, errno syscall.Errno) {
	r, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(v)), uintptr(count))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
