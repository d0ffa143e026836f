// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"sync"
	"syscall"
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

// unread returns how many bytes of a TCP socket were not read, and whether that is known.
func unread(fd uintptr) (n int, known bool) {
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
	return n, err == nil
}

// census is one look at a socket.
type census struct {
	received uint64 // bytes; 0 if some were not read
	empty    bool   // all were read, and it is open in both directions
}

// take does not look further where something was not read. What comes in between is received.
func (c *census) take(fd uintptr) {
	*c = census{}
	if n, known := unread(fd); known && n == 0 {
		c.received, c.empty = received(fd)
	}
}

// look is a census as what a RawConn calls: bound once, as a closure each time would
// allocate.
type look struct {
	census
	f func(fd uintptr)
}

var looks = sync.Pool{New: func() any {
	l := new(look)
	l.f = l.take
	return l
}}

// count takes a census of a socket. Of one that is closed nothing is known.
func count(rc syscall.RawConn) census {
	l := looks.Get().(*look)
	defer looks.Put(l)
	l.census = census{}
	_ = rc.Control(l.f) // it fails on one that is closed
	return l.census
}
