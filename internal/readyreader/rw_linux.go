// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan

package readyreader

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"google.golang.org/grpc/internal/pulse"
)

const (
	// much is how many bytes a system call may move at most if Go's scheduler is not told of it. Such a
	// call should take no more than a tenth of a millisecond: a garbage collection may have to wait for it.
	much = 512 << 10
	// bulk is from how many bytes on a call counts as a pulse.Event. Such a call takes longer than 20
	// microseconds. After that time sysmon, if it had been told of the call, would give the processor to
	// another thread. That thread has to be woken, and mostly finds nothing to do. And as long as sysmon
	// finds such calls, it looks again just as soon.
	bulk = 64 << 10
)

func sysRead(fd int, p []byte) (n int, err error) {
	if pulse.On() && len(p) <= much {
		n, err = sysRaw(syscall.SYS_READ, fd, p)
	} else {
		n, err = syscall.Read(fd, p)
	}
	moved(n)
	return n, err
}

func sysWrite(fd int, p []byte) (n int, err error) {
	if pulse.On() && len(p) <= much {
		n, err = sysRaw(syscall.SYS_WRITE, fd, p)
	} else {
		n, err = syscall.Write(fd, p)
	}
	moved(n)
	return n, err
}

// sysWriteVector writes the pieces in v, which have size bytes in all.
func sysWriteVector(fd uintptr, v *unix.Iovec, count, size int) (n int, errno syscall.Errno) {
	var r uintptr
	if pulse.On() && size <= much {
		r, _, errno = syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(v)), uintptr(count))
	} else {
		r, _, errno = syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(v)), uintptr(count))
	}
	if errno == 0 {
		n = int(r)
	}
	moved(n)
	return n, errno
}

// moved notes that a system call has moved n bytes.
func moved(n int) {
	if n >= bulk {
		pulse.Event()
	}
}

// sysRaw makes one system call without telling the scheduler. p is not empty.
func sysRaw(trap uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
