// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// roundTrip is TCP's estimate for a socket; 0 for one that is not of TCP, or closed.
func roundTrip(rc syscall.RawConn) (d time.Duration) {
	_ = rc.Control(func(fd uintptr) { // its error is that the socket is closed
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO); err == nil {
			d = time.Duration(info.Rtt) * time.Microsecond
		}
	})
	return d
}
