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

// census is one look at a socket.
type census struct {
	received uint64 // bytes, read or not
	unread   uint64 // no fewer of them than there were when received was counted
	open     bool   // in both directions, and counted
}

func (c *census) take(fd uintptr) {
	c.received, c.open = received(fd)
	var n int32
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SIOCINQ, uintptr(unsafe.Pointer(&n)))
	c.unread = uint64(max(n, 0))
	if _, still := received(fd); errno != 0 || !still {
		c.open = false // what ends a connection may drop what was not read
	}
}

// look is a census as what a RawConn calls: bound once, as a closure each time would
// allocate.
type look struct {
	census
	whole, part func(fd uintptr)
}

var looks = sync.Pool{New: func() any {
	l := new(look)
	l.whole = l.take
	l.part = func(fd uintptr) { l.received, l.open = received(fd) }
	return l
}}

// count takes a census of a socket, of which not all may be needed.
func count(rc syscall.RawConn, whole bool) (c census) {
	l := looks.Get().(*look)
	l.census = census{}
	f := l.part
	if whole {
		f = l.whole
	}
	if err := rc.Control(f); err == nil {
		c = l.census
	}
	looks.Put(l)
	return c
}
