// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"runtime"
	"syscall"
	"testing"
)

// TestInterruptedRead interrupts a read with signals. A blocking socket with a
// receive timeout is the one case in which Linux returns EINTR even though the
// runtime's handlers ask for a restart.
func TestInterruptedRead(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fds[0])
	defer syscall.Close(fds[1])
	tv := syscall.Timeval{Sec: 60}
	if err := syscall.SetsockoptTimeval(fds[0], syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv); err != nil {
		t.Fatal(err)
	}
	tid := make(chan int)
	res := make(chan error)
	p := make([]byte, 8)
	go func() {
		runtime.LockOSThread()
		tid <- syscall.Gettid()
		_, err := readOnce(fds[0], p)
		res <- err
	}()
	thread := <-tid
	for range 200 {
		// SIGURG: the runtime uses it for preemption and takes any number.
		if err := syscall.Tgkill(syscall.Getpid(), thread, syscall.SIGURG); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	if _, err := syscall.Write(fds[1], []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-res; err != nil {
		t.Fatalf("interrupted read: %v", err)
	}
}
