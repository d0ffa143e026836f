// SPDX-License-Identifier: Apache-2.0

//go:build !race

package readyreader

import (
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxRW bounds one system call.
const maxRW = 1 << 30

const (
	fionbio = 0x8004667e // FIONBIO: whether a socket's calls wait
	msgPeek = 0x2        // MSG_PEEK
)

// neverWaits makes single reads and writes of the descriptor return rather than wait. Package net uses
// overlapped reads and writes, which this does not change: only calls that are not overlapped, which are
// ours, fail with WSAEWOULDBLOCK. It is false for a socket whose close is to linger: closesocket fails with
// that error, too, and leaves the socket open.
func neverWaits(rc syscall.RawConn) bool {
	var err error
	cerr := rc.Control(func(fd uintptr) {
		if lingers(windows.Handle(fd)) {
			err = windows.WSAEWOULDBLOCK
			return
		}
		on, n := uint32(1), uint32(0)
		err = windows.WSAIoctl(windows.Handle(fd), fionbio,
			(*byte)(unsafe.Pointer(&on)), uint32(unsafe.Sizeof(on)), nil, 0, &n, nil, 0)
	})
	return cerr == nil && err == nil
}

// lingers reports whether SO_LINGER has a time for which a close waits.
func lingers(fd windows.Handle) bool {
	var l struct{ on, seconds uint16 }
	n := int32(unsafe.Sizeof(l))
	err := windows.Getsockopt(fd, windows.SOL_SOCKET, windows.SO_LINGER, (*byte)(unsafe.Pointer(&l)), &n)
	return err == nil && l.on != 0 && l.seconds != 0
}

// readOnce reads once into a non-empty p: n > 0 or an error.
func readOnce(fd int, p []byte) (int, error) {
	n, err := receive(fd, p, 0)
	switch {
	case n > 0:
		return n, nil
	case err == nil:
		return 0, io.EOF // the peer's FIN
	case err == windows.WSAEWOULDBLOCK:
		return 0, ErrWouldBlock
	}
	return 0, os.NewSyscallError("wsarecv", err)
}

func writeOnce(fd int, p []byte) (int, error) {
	a := takeArguments(p)
	err := windows.WSASend(windows.Handle(fd), &a.buf, 1, &a.n, 0, nil, nil)
	n := a.n
	a.release()
	switch {
	case err == windows.WSAEWOULDBLOCK:
		return 0, ErrWouldBlock
	case err != nil:
		return 0, os.NewSyscallError("wsasend", err)
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	}
	return int(n), nil
}

func receive(fd int, p []byte, flags uint32) (int, error) {
	a := takeArguments(p)
	a.flags = flags
	err := windows.WSARecv(windows.Handle(fd), &a.buf, 1, &a.n, &a.flags, nil, nil)
	n := a.n
	a.release()
	return int(n), err
}

// arguments are the arguments of a call that the system takes by address.
type arguments struct {
	buf      windows.WSABuf
	n, flags uint32
}

var spareArguments = sync.Pool{New: func() any { return new(arguments) }}

func takeArguments(p []byte) *arguments {
	p = p[:min(len(p), maxRW)]
	a := spareArguments.Get().(*arguments)
	a.buf, a.n = windows.WSABuf{Len: uint32(len(p)), Buf: unsafe.SliceData(p)}, 0
	return a
}

func (a *arguments) release() {
	a.buf.Buf = nil
	spareArguments.Put(a)
}

func isReadable(fd uintptr) bool {
	var b [1]byte
	_, err := receive(int(fd), b[:], msgPeek)
	return err != windows.WSAEWOULDBLOCK
}
