// SPDX-License-Identifier: Apache-2.0

//go:build race || msan || asan

package readyreader

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func sysWriteVector(fd uintptr, v *unix.Iovec, count int) (n int, errno syscall.Errno) {
	// The race detector has to see this write come before the read of its bytes: see readOnce. Only package
	// syscall has access to the variable that stands for that order. A write that fails touches it, and
	// does nothing else.
	_, _ = syscall.Write(-1, nil)
	r, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(v)), uintptr(count))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
