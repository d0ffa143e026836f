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
// an old one doesn't count, and must not be taken to have received nothing. Neither this nor
// unread ever waits, so the scheduler is not told of them, which would cost as much again.
func received(fd uintptr) (n uint64, open bool) {
	var info unix.TCPInfo
	want := uint32(unsafe.Offsetof(info.Bytes_received) + unsafe.Sizeof(info.Bytes_received))
	size := want
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < want {
		return 0, false
	}
	return info.Bytes_received, info.State == unix.BPF_TCP_ESTABLISHED
}

// unread returns how many bytes of a TCP socket were not read, and whether that is known.
func unread(fd uintptr) (uint64, bool) {
	var n int32
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, fd, unix.SIOCINQ, uintptr(unsafe.Pointer(&n)))
	return uint64(max(n, 0)), errno == 0
}

// hasCome is isReadable, of which the scheduler is not told.
func hasCome(fd uintptr) bool {
	for {
		fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		var now unix.Timespec
		n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if errno != unix.EINTR {
			return errno != 0 || n > 0
		}
	}
}

// census is one look at a socket.
type census struct {
	received uint64 // bytes, read or not
	unread   uint64 // no fewer of them than there were when received was counted
	open     bool   // in both directions, and counted
}

func (c *census) take(fd uintptr) {
	var known bool
	c.received, c.open = received(fd)
	c.unread, known = unread(fd)
	if _, still := received(fd); !known || !still {
		c.open = false // what ends a connection may drop what was not read
	}
}

// glance is take for who asks whether all that was received was read. Where some was not it
// does not look further: that is the cheaper question, and after a wait its answer mostly
// says enough. What comes between the two is received, and is not missed.
func (c *census) glance(fd uintptr) {
	var known bool
	if c.unread, known = unread(fd); known && c.unread == 0 {
		c.received, c.open = received(fd)
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
	l.part = l.glance
	return l
}}

// count takes a census of a socket.
func count(rc syscall.RawConn) census {
	l := looks.Get().(*look)
	return l.at(rc, l.whole)
}

// glance is count for who asks whether all that was received was read.
func glance(rc syscall.RawConn) census {
	l := looks.Get().(*look)
	return l.at(rc, l.part)
}

// at looks at rc by f, and gives l back.
func (l *look) at(rc syscall.RawConn, f func(fd uintptr)) (c census) {
	l.census = census{}
	if err := rc.Control(f); err == nil {
		c = l.census
	}
	looks.Put(l)
	return c
}
