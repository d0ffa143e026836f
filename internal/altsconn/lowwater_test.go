// SPDX-License-Identifier: Apache-2.0

//go:build linux

package altsconn

import (
	"net"
	"syscall"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
)

func markOf(t *testing.T, c net.Conn) (n int) {
	t.Helper()
	rc, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	rc.Control(func(fd uintptr) {
		if n, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT); err != nil {
			t.Error(err)
		}
	})
	return n
}

// The mark is up only while a read waits for much of a record: not at a try, after
// which a connection may park, and not behind the record.
func TestLowWater(t *testing.T) {
	for _, on := range []bool{true, false} {
		a, b := rawPair(t, "tcp")
		c := wrap(t, a, Config{Pool: newPool(t), LowWater: on}).(*Socket)
		msg := random(400_000)
		rec := newSealer(t, Server).record(msg)
		mustWrite(t, b, rec[:1000])
		for arrived(c) != 1000 {
			c.TryReadInto(make([]byte, 1))
		}
		if n := markOf(t, a); n != 1 {
			t.Errorf("on %t: after a try the mark is %d", on, n)
		}
		got := make([]byte, len(msg))
		done := make(chan int)
		go func() {
			n, _ := c.Read(got)
			done <- n
		}()
		if on {
			for markOf(t, a) < lowWaterFrom { // the read gets there, or the test hangs
			}
		}
		mustWrite(t, b, rec[1000:])
		if n := <-done; n != len(msg) || string(got) != string(msg) {
			t.Fatalf("on %t: read %d bytes", on, n)
		}
		if _, err := c.TryReadInto(got); err != readyreader.ErrWouldBlock {
			t.Fatal(err)
		}
		if n := markOf(t, a); n != 1 {
			t.Errorf("on %t: behind the record the mark is %d", on, n)
		}
	}
}
