// SPDX-License-Identifier: Apache-2.0

//go:build race || msan || asan

package readyreader

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func sysWriteVector(fd uintptr, v *unix.Iovec, count, _ int) (n int, errno syscall.Errno) {
	// The race detector is told that who reads what is about to be written comes after it: see
	// readOnce. A write that fails does that, and nothing else that has access to the variable.
	_, _ = syscall.Write(-1, nil)
	r, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(v)), uintptr(count))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
