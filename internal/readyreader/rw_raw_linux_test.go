// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan && !386 && !s390x

package readyreader

import (
	"syscall"
	"testing"
)

// TestRawNeverWaits calls in blocking mode what the scheduler is not told of.
func TestRawNeverWaits(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fds[0])
	p := make([]byte, 64<<10)
	if n, err := sysRaw(syscall.SYS_RECVFROM, fds[0], p); n > 0 || err != syscall.EAGAIN {
		t.Errorf("read: %d, %v", n, err)
	}
	for err = nil; err == nil; {
		_, err = sysRaw(syscall.SYS_SENDTO, fds[0], p)
	}
	if err != syscall.EAGAIN {
		t.Errorf("write: %v", err)
	}
	if n, err := sysRaw(syscall.SYS_RECVFROM, fds[1], p); n <= 0 || err != nil {
		t.Errorf("read: %d, %v", n, err)
	}
	syscall.Close(fds[1])
	if _, err := sysRaw(syscall.SYS_SENDTO, fds[0], p); err != syscall.EPIPE {
		t.Errorf("write after the end: %v", err)
	}
}
