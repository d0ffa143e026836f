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
	// much is how many bytes at most a call takes that the scheduler is not told of: it should
	// be done in a tenth of a millisecond, for which a collection may have to wait.
	much = 512 << 10
	// bulk is from how many bytes on a call is an event. It takes longer than the 20 microseconds
	// after which sysmon, had it been told, gives the processor to another thread, which has to be
	// woken for that, and mostly finds nothing to do; and while it finds such calls it looks again
	// that soon.
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

// sysWriteVector writes size bytes, those of all pieces in v.
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

// moved follows a call that has moved n bytes.
func moved(n int) {
	if n >= bulk {
		pulse.Event()
	}
}

// sysRaw is one call, of which the scheduler is not told. p is not empty.
func sysRaw(trap uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
