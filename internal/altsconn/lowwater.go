// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"net"
	"syscall"
)

// lowWaterFrom is how much must be missing from a record for the kernel to be asked
// to wait for it: below, the two system calls cost more than the wake-ups.
const lowWaterFrom = 64 << 10

// lowWater is a TCP socket's low-water mark. Only the reader touches it. It is 1 unless the reader waits
// for a part of a large record: a mark above 1 would let a small message lie in the kernel. A nil lowWater
// does nothing.
type lowWater struct {
	rc   syscall.RawConn
	cur  int
	want int              // what apply sets
	call func(fd uintptr) // apply, made once so that a call allocates nothing
}

// newLowWater returns nil where there is no mark to set.
func newLowWater(raw net.Conn) *lowWater {
	tcp, ok := raw.(*net.TCPConn)
	if !ok || !canSetLowWater {
		return nil
	}
	rc, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	l := &lowWater{rc: rc, cur: 1}
	l.call = l.apply
	return l
}

// set makes a socket with fewer than n bytes count as having none, until its
// peer's end or an error. Fewer than lowWaterFrom means 1.
func (l *lowWater) set(n int) {
	if l == nil {
		return
	}
	if n < lowWaterFrom {
		n = 1
	}
	if n == l.cur {
		return
	}
	// A closed socket doesn't matter. Any other failure leaves the mark as it
	// was, which is right as long as that is 1.
	l.want = n
	if l.rc.Control(l.call) != nil {
		l.cur = 1
	}
}

func (l *lowWater) apply(fd uintptr) {
	if setLowWater(fd, l.want) == nil {
		l.cur = l.want
	}
}
