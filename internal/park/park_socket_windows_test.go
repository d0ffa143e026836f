// SPDX-License-Identifier: Apache-2.0

package park

import (
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

func neverWaits(t testing.TB, rc syscall.RawConn) {
	t.Helper()
	const fionbio = 0x8004667e
	rc.Control(func(fd uintptr) {
		on, n := uint32(1), uint32(0)
		err := windows.WSAIoctl(windows.Handle(fd), fionbio, (*byte)(unsafe.Pointer(&on)), 4, nil, 0, &n, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
	})
}

func readNow(fd uintptr, p []byte) (int, error) {
	buf := windows.WSABuf{Len: uint32(len(p)), Buf: unsafe.SliceData(p)}
	var n, flags uint32
	err := windows.WSARecv(windows.Handle(fd), &buf, 1, &n, &flags, nil, nil)
	if err == windows.WSAEWOULDBLOCK {
		err = errNoInput
	}
	return int(n), err
}
