// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// received returns how many bytes a TCP socket has received, read or not, and whether
// it is open in both directions; false for what is not a TCP socket.
//
// unix.GetsockoptTCPInfo does not say how much of the struct the kernel has filled in:
// an old one doesn't count, and must not be taken to have received nothing.
func received(fd uintptr) (n uint64, open bool) {
	var info unix.TCPInfo
	want := uint32(unsafe.Offsetof(info.Bytes_received) + unsafe.Sizeof(info.Bytes_received))
	size := want
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < want {
		return 0, false
	}
	return info.Bytes_received, info.State == unix.BPF_TCP_ESTABLISHED
}
