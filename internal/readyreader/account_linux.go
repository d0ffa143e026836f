// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"syscall"
	"unsafe"
)

// tcpInfo is the beginning of the kernel's struct tcp_info.
type tcpInfo struct {
	state    uint8
	_        [127]byte
	received uint64 // tcpi_bytes_received
}

const tcpEstablished = 1

// received returns how many bytes a TCP socket has received, read or not, and whether
// it is open in both directions; false for what is not a TCP socket.
func received(fd uintptr) (n uint64, open bool) {
	var info tcpInfo
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < uint32(unsafe.Sizeof(info)) { // an old kernel
		return 0, false
	}
	return info.received, info.state == tcpEstablished
}
